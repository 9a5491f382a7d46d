/**
 * One append at an exact revision, with the outcome it really had. For whoever holds the folded state of a stream.
 *
 * Not here: what is appended, and what is done about a conflict.
 *
 * Invariant: an unknown outcome is settled by looking for the events' ids in the stream, never by hoping. Only where nothing came
 * after the revision is the identical append tried again.
 */
import { type Either, isLeft } from "fp-ts/lib/Either.js";
import type { AppendError, Appended, EventData, EventLog } from "../../events/event-log.ts";
import { StoreError } from "../../events/store-error.ts";

/** How often a store may leave open whether it took an append before that is the operator's matter. */
export const MAX_UNKNOWN_OUTCOMES = 5;

export interface ExactAppend {
  readonly log: EventLog;
  readonly stream: string;
  /** The revision that the events rest on, the last one folded; -1: the stream has no events. */
  readonly revision: number;
  readonly data: readonly EventData[];
  /** The events may be written in parts: then that they are too large is an answer, and no error. */
  readonly divisible: boolean;
  /** Whose events they are, for messages: `Run "7"`. */
  readonly whose: string;
  /** Folds what the stream has after `revision`, and answers the ids of it. */
  readonly catchUp: () => Promise<readonly string[]>;
}

/**
 * - `written`: they are still to be folded.
 * - `found`: an earlier try was written although its answer did not come; they are folded.
 * - `conflict`: others' events stand there, and are folded; nothing was written.
 * - `too large`: nothing was written.
 */
export type Written = "written" | "found" | "conflict" | "too large";

/**
 * Answers what `next` makes of the outcome.
 * @throws StoreError where the log cannot take the events, or leaves it open too often.
 */
export const appendExactly = <R>(
  append: ExactAppend,
  next: (written: Written) => R | Promise<R>,
): Promise<R> =>
  write(append).then((answer) =>
    isLeft(answer) ? settle(append, answer.left, 0).then(next) : next("written"),
  );

const write = ({ log, stream, revision, data }: ExactAppend): Promise<Either<AppendError, Appended>> =>
  log.append(stream, revision === -1 ? "none" : revision, data)();

/** What became of an append that was not taken; `tries` so many were left open before. */
const settle = async (append: ExactAppend, error: AppendError, tries: number): Promise<Written> => {
  const { data, divisible, whose, catchUp } = append;
  if (error._tag === "TooLarge" && divisible) return "too large";
  if (error._tag === "WrongExpectedRevision" || error._tag === "UnknownOutcome") {
    const found = await catchUp();
    if (found[0] === data[0]?.id) return "found";
    if (found.length > 0) return "conflict";
    if (tries < MAX_UNKNOWN_OUTCOMES) {
      const answer = await write(append);
      return isLeft(answer) ? settle(append, answer.left, tries + 1) : "written";
    }
  }
  throw notRecorded(whose, error);
};

/** An append that failed, in words for the operator. `whose` begins the sentence: `Run "7"`. */
export const notRecorded = (whose: string, error: AppendError): StoreError =>
  error._tag === "WrongExpectedRevision"
    ? new StoreError(`${whose} could not be recorded: the log refuses the revision that it answers itself.`, {
        _tag: "Corrupt",
        reason: `stream ${error.stream}: appends see revision ${error.actual}, reads do not`,
      })
    : new StoreError(`${whose} could not be recorded: ${reasonOf(error)}.`, error);

const reasonOf = (error: Exclude<AppendError, { readonly _tag: "WrongExpectedRevision" }>): string => {
  if (error._tag === "TooLarge")
    return `it takes ${error.actual} bytes, and the store takes ${error.limit} at most`;
  return "reason" in error ? error.reason : "its stream was deleted for good";
};
