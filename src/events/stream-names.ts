/**
 * Stream names: `run-<runId>` holds a run's facts, or a thread's, `hook-<token>` says who may wait on a token.
 *
 * Run ids and tokens are any text. Printable ASCII but `%` stands for itself, so that ordinary names stay readable; every other
 * UTF-16 unit is written `%xxxx`. The mapping is one to one, also for NUL and lone surrogates, which no store keeps alike.
 *
 * A run of the Workflow SDK has a `run-` stream too. Beside it stand `sdk-token-<token>` (which hook holds a token), `sdk-queue-<runId>`
 * (the run's messages) and `sdk-chunks-<runId>/<name>` (one stream of chunks).
 */
const escapeUnits = (text: string): string =>
  text.replace(/[^\x21-\x24\x26-\x7e]/g, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

const unescapeUnits = (text: string): string =>
  text.replace(/%([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

export const RUN_PREFIX = "run-";
const HOOK_PREFIX = "hook-";

export const runStream = (runId: string): string => RUN_PREFIX + escapeUnits(runId);
export const hookStream = (token: string): string => HOOK_PREFIX + escapeUnits(token);

/** The run id of a run's stream; `undefined` for any other stream. */
export const runIdOf = (stream: string): string | undefined =>
  stream.startsWith(RUN_PREFIX) ? unescapeUnits(stream.slice(RUN_PREFIX.length)) : undefined;

export const SDK_QUEUE_PREFIX = "sdk-queue-";

export const sdkTokenStream = (token: string): string => `sdk-token-${escapeUnits(token)}`;
export const sdkQueueStream = (runId: string): string => SDK_QUEUE_PREFIX + escapeUnits(runId);

/** What the names of all chunk streams of a run begin with, and of no other run's. */
export const sdkChunksPrefix = (runId: string): string =>
  `sdk-chunks-${escapeUnits(runId).replaceAll("/", "%002f")}/`;
export const sdkChunksStream = (runId: string, name: string): string =>
  sdkChunksPrefix(runId) + escapeUnits(name);
