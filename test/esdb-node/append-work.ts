/** What the two ways to append have in common: counting sizes, waiting out what a server does not answer, and counting appends. */
import type { Expected } from "./append-rules.ts";
import type { Core, Limits } from "./core.ts";
import type { Outcome } from "./database.ts";
import { pause } from "./faulty-call.ts";
import type { Proposed } from "./record.ts";

export type AppendAnswer = Exclude<Outcome, { _tag: "Ignored" }> | { readonly _tag: "TimedOut" };

export const sizeOf = (event: Proposed, limits: Limits): number =>
  limits.countsMetadata
    ? event.data.length + event.metadata.length + 2 * event.type.length
    : event.data.length;

export const append = async (
  core: Core,
  stream: string,
  expected: Expected,
  events: readonly Proposed[],
): Promise<AppendAnswer> => {
  const before = core.database.all.length;
  const writing = core.database.append(stream, expected, events);
  if (core.database.all.length > before) {
    core.counts.appends += 1;
    core.counts.events += events.length;
  }
  const outcome = await writing;
  if (outcome._tag !== "Ignored") return outcome;
  await pause(core.limits.commitTimeoutMs);
  return { _tag: "TimedOut" };
};

interface ExpectedOptions {
  hasNoStream(): boolean;
  hasAny(): boolean;
  hasStreamExists(): boolean;
}

/** `revision` is the decimal text of an expected revision. */
export const expectedIn = (options: ExpectedOptions, revision: string): Expected =>
  options.hasAny()
    ? "any"
    : options.hasNoStream()
      ? "no_stream"
      : options.hasStreamExists()
        ? "stream_exists"
        : Number(revision);
