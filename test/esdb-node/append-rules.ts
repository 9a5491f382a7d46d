/**
 * What becomes of an append: the rules by which a server decides whether it is new, a repetition, or wrong.
 *
 * The rules are numbered 1 to 6 as the tests quote them. They compare ids only; nothing here looks at an event's data.
 */
import type { IdCache } from "./id-cache.ts";
import type { StreamState } from "./stream-state.ts";

export type Expected = "any" | "no_stream" | "stream_exists" | number;

export type Verdict =
  | { readonly _tag: "Write" }
  /** All of it is there already; `last` is the revision of its last event. */
  | { readonly _tag: "Repeated"; readonly last: number }
  | { readonly _tag: "Wrong"; readonly actual: number }
  | { readonly _tag: "Deleted" };

const WRITE: Verdict = { _tag: "Write" };
const DELETED: Verdict = { _tag: "Deleted" };

/** What the rules need to know about a stream. */
export interface Target {
  readonly state: StreamState;
  readonly softDeleted: boolean;
  readonly hasMetadata: boolean;
}

export const decideAppend = (
  { state, softDeleted, hasMetadata }: Target,
  expected: Expected,
  ids: readonly string[],
  cache: IdCache,
): Verdict => {
  const last = state.records.length - 1;
  const wrong: Verdict = { _tag: "Wrong", actual: last };
  // 1
  if (state.tombstoned) return DELETED;
  // 2
  if (expected === "stream_exists") {
    if (softDeleted) return DELETED;
    if (last === -1 && !hasMetadata) return wrong;
  }
  // 3
  if (expected === "any" || expected === "stream_exists") return decideAny(state, ids, cache, wrong);
  const exact = expected === "no_stream" ? -1 : expected;
  // 5, 6
  if (exact === last) return WRITE;
  if (exact > last) return wrong;
  // 4
  for (let index = 0; index < ids.length; index += 1) {
    if (state.records[exact + 1 + index]?.id === ids[index]) continue;
    return index === 0 && softDeleted && expected === "no_stream" ? WRITE : wrong;
  }
  return ids.length === 0 ? wrong : { _tag: "Repeated", last: exact + ids.length };
};

/** Where the ids are need not be next to each other: that all are known in this stream is enough. */
const decideAny = (state: StreamState, ids: readonly string[], cache: IdCache, wrong: Verdict): Verdict => {
  let last: number | undefined;
  for (const id of ids) {
    const found = cache.find(id);
    if (found === undefined || found.stream !== state.name) return last === undefined ? WRITE : wrong;
    last = found.revision;
  }
  return last === undefined ? WRITE : { _tag: "Repeated", last };
};
