/**
 * Stream names: `run-<runId>` holds a run's facts, `hook-<token>` says who may wait on a token.
 *
 * Run ids and tokens are any text. Printable ASCII but `%` stands for itself, so that ordinary names stay readable; every other
 * UTF-16 unit is written `%xxxx`. The mapping is one to one, also for NUL and lone surrogates, which no store keeps alike.
 */
const escapeUnits = (text: string): string =>
  text.replace(/[^\x21-\x24\x26-\x7e]/g, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

const unescapeUnits = (text: string): string =>
  text.replace(/%([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

export const RUN_PREFIX = "run-";
export const HOOK_PREFIX = "hook-";

export const runStream = (runId: string): string => RUN_PREFIX + escapeUnits(runId);
export const hookStream = (token: string): string => HOOK_PREFIX + escapeUnits(token);

/** The run id of a run's stream; `undefined` for any other stream. */
export const runIdOf = (stream: string): string | undefined =>
  stream.startsWith(RUN_PREFIX) ? unescapeUnits(stream.slice(RUN_PREFIX.length)) : undefined;
