/**
 * EventDecodeError: a recorded event that this version of Runstream cannot read. It blocks the one run it belongs to.
 *
 * It says where the event is and which fields are wrong, and never what is in them: values may be secrets.
 */
import type { Context, Errors } from "io-ts";
import type { RecordedEvent } from "./event-log.ts";

/** At most this many wrong places are named. */
const MAX_PATHS = 5;

export type EventDecodeProblem =
  /** The type is not in the catalogue: a newer Runstream, or something else, wrote it. */
  | "UnknownType"
  /** The type is known, but not in a version as new as this. */
  | "NewerVersion"
  /** What is stored is not what the type and version say. */
  | "Malformed"
  /** It is sealed, and does not open with the key there is. */
  | "Unopened"
  /** It is sealed in a way that this version does not know. */
  | "UnknownSeal"
  /** A run was asked for, and the stream is a thread's. */
  | "OfThread"
  /** A thread was asked for, and the stream is a run's. */
  | "OfRun"
  /** A run or a thread was asked for, and the stream is that of a run of the Workflow SDK. */
  | "OfSdkRun";

export class EventDecodeError extends Error {
  override readonly name = "EventDecodeError";
  readonly _tag = "EventDecodeError";
  readonly problem: EventDecodeProblem;
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  /** The schema version found; `undefined` where the metadata says none. */
  readonly version: number | undefined;
  /** The places that are wrong, such as `data.error.message`; at most five, and none unless `Malformed` or sealed. */
  readonly paths: readonly string[];

  constructor(
    problem: EventDecodeProblem,
    event: RecordedEvent,
    found: { version?: number | undefined; known?: number; paths?: readonly string[]; cause?: unknown } = {},
  ) {
    const paths = (found.paths ?? []).slice(0, MAX_PATHS);
    super(explain(problem, event, found, paths), "cause" in found ? { cause: found.cause } : undefined);
    this.problem = problem;
    this.stream = event.stream;
    this.revision = event.revision;
    this.type = event.type;
    this.version = found.version;
    this.paths = paths;
  }

  static is(value: unknown): value is EventDecodeError {
    return value instanceof Error && value.name === "EventDecodeError";
  }
}

const explain = (
  problem: EventDecodeProblem,
  { stream, revision, type }: RecordedEvent,
  found: { version?: number | undefined; known?: number },
  paths: readonly string[],
): string => {
  const where = `Event ${revision} of stream ${stream} (${type}) cannot be read`;
  switch (problem) {
    case "Unopened":
      return `${where}: ${paths.join(", ")} is sealed, and does not open: the key that was given is not the one it was sealed with, or what is stored was changed since. Look at what the keys answer for this run. Nothing is lost; this run is blocked, others are not affected.`;
    case "UnknownSeal":
      return `${where}: ${paths.join(", ")} is sealed in a way that this version of Runstream does not know. Upgrade Runstream to go on with this run; others are not affected.`;
    case "UnknownType":
      return `${where}: this version of Runstream does not know the type. Upgrade Runstream to go on with this run; others are not affected.`;
    case "NewerVersion":
      return `${where}: it has schema version ${found.version}, and this version of Runstream knows up to ${found.known}. Upgrade Runstream to go on with this run; others are not affected.`;
    case "OfThread":
      return `${where} as a run's: the stream belongs to a thread, which is resumed or continued and not run by workers. Give a run of your own another id.`;
    case "OfRun":
      return `${where} as a thread's: the stream belongs to a run, of the workflow engine or of the Workflow SDK. Give the thread another id.`;
    case "OfSdkRun":
      return `${where} as Runstream's own: the stream belongs to a run of the Workflow SDK, which its own runtime goes on with. "runstream history" reads it; the World of runstream/workflow-sdk answers for its state.`;
    case "Malformed": {
      const places = paths.length === 0 ? "" : ` at ${paths.join(", ")}`;
      return `${where}: what is stored is not what version ${found.version ?? "?"} of the type consists of${places}. The event was damaged or written by something else; this run is blocked, others are not affected.`;
    }
  }
};

/** Members of an intersection are steps of a check, not places in the data. */
const isIntersection = (type: unknown): boolean => {
  const tagged = type as { _tag?: string; type?: unknown } | undefined;
  return tagged?._tag === "IntersectionType" || (tagged?._tag === "ExactType" && isIntersection(tagged.type));
};

const pathOf = (root: string, context: Context): string => {
  let path = root;
  for (let i = 1; i < context.length; i++) {
    if (!isIntersection(context[i - 1]?.type)) path += `.${context[i]?.key}`;
  }
  return path;
};

/** Where io-ts found something wrong, each place once. */
export const pathsOf = (root: string, errors: Errors): readonly string[] => [
  ...new Set(errors.map((error) => pathOf(root, error.context))),
];
