/**
 * Divergence watch: notices that a walk reaches a step its run should have reached earlier. It raises a suspicion; whether that is a
 * verdict depends on the step's claim, which the attempt loop asks. It cannot see a reordering under one name, nor waits.
 *
 * Invariants:
 * - D1 A reach is suspicious when it is not recorded although something that finished after everything read so far is recorded and
 *   still unread; what finished after what is the stream's matter where the store knows it, and the clocks' where it does not.
 * - D2 A suspicion consumes nothing: each fresh sibling of a fan-out is judged against the same entry.
 * - D3 Reaches are told in the order in which the body issues them, before any await.
 * - D4 Constant work per reach, amortised: an entry passed over once, because it was read or lies behind, never counts again, since
 *   both only grow.
 * - D5 What may be recorded of a step inside a step that has yet to be run again accuses nobody.
 */
import { codeVerdict } from "./code-version.ts";
import type { Settlement, StepEntry } from "./journal-store.ts";

/** Why a reach is odd. */
export interface Suspicion {
  /** The first recorded entry that this walk has not reached and that finished after all it has read. */
  readonly displaced: StepEntry;
  /** Recorded entries not reached, when the suspicion arose. */
  readonly unread: number;
}

export interface DivergenceWatch {
  /** A step or a determinism read is reached; `recorded` is its entry in the walk's opening snapshot, if there is one. */
  reach(key: string, recorded?: StepEntry): Suspicion | undefined;
  /** Is what made a reach suspicious unread still? A body may reach it right after, before the claim of the first one is answered. */
  stands(suspicion: Suspicion): boolean;
  /**
   * A step that an earlier walk began and did not settle is run again, until the function answered is called: what is recorded and
   * unread may be of steps inside it, so nothing is suspicious meanwhile.
   */
  resumed(): () => void;
  /** A step that was not in the snapshot turned out to have settled since. */
  answeredLate(entry: StepEntry): void;
  /** Entries of the snapshot that the walk has not reached. */
  unread(): number;
}

type PlaceOf = (entry: StepEntry) => number;

const inOrder = (entries: readonly StepEntry[], placeOf: PlaceOf): readonly StepEntry[] =>
  entries.every((entry, i) => i === 0 || placeOf(entries[i - 1]!) <= placeOf(entry))
    ? entries
    : [...entries].sort((a, b) => placeOf(a) - placeOf(b));

/**
 * `entries` is the run's steps as the walk found them on opening, ordered by `finishedAt`. `order` is how everything settled, where the
 * store knows: clocks go back and differ between workers, the stream does not (law L1).
 */
export const createDivergenceWatch = (
  entries: readonly StepEntry[],
  order?: readonly Settlement[],
): DivergenceWatch => {
  const places =
    order && new Map(order.flatMap(({ of, key }, place) => (of === "step" ? [[key, place] as const] : [])));
  const placeOf: PlaceOf = ({ key, finishedAt }) =>
    places === undefined ? finishedAt : (places.get(key) ?? Number.POSITIVE_INFINITY);
  const ordered = inOrder(entries, placeOf);
  const unread = new Set(entries.map((entry) => entry.key));
  let readThrough = -1;
  let cursor = 0;
  let resumed = 0;

  const displaced = (): StepEntry | undefined => {
    for (; cursor < ordered.length; cursor++) {
      const entry = ordered[cursor]!;
      if (placeOf(entry) > readThrough && unread.has(entry.key)) return entry;
    }
    return undefined;
  };

  const answered = (entry: StepEntry): void => {
    const place = placeOf(entry);
    if (place > readThrough) readThrough = place;
  };

  return {
    reach(key, recorded) {
      unread.delete(key);
      if (recorded !== undefined) {
        answered(recorded);
        return undefined;
      }
      const entry = resumed > 0 ? undefined : displaced();
      return entry === undefined ? undefined : { displaced: entry, unread: unread.size };
    },
    stands: ({ displaced: { key } }) => resumed === 0 && unread.has(key),
    resumed() {
      resumed += 1;
      return () => {
        resumed -= 1;
      };
    },
    answeredLate: answered,
    // No getter: an object literal with one gets a hidden class of its own, which keeps all it refers to until a major collection.
    unread: () => unread.size,
  };
};

/** What the refusal of a diverged walk says. `started` and `walking` are code versions. */
export const divergenceMessage = (facts: {
  runId: string;
  name: string;
  key: string;
  suspicion: Suspicion;
  started?: string | undefined;
  walking?: string | undefined;
}): string => {
  const { displaced, unread } = facts.suspicion;
  return (
    `Workflow replay diverged: run ${facts.runId} reached step ${JSON.stringify(facts.name)} as journal key ${facts.key}, which was never ` +
    `begun, while ${unread} recorded ${unread === 1 ? "entry is" : "entries are"} still unread, the first being ${displaced.key}. ` +
    `Going on would run again, under a new key, what may have happened already, so the engine refused to execute the step. ` +
    `The run is failed by this; its history stays. There are two causes. Either the CODE changed while the run was in flight (a step added, ` +
    `removed, renamed or moved): start the work again, and let runs in flight end on the old code before the next such change. Or the BODY is non-deterministic (a step name computed from data, a branch on ` +
    `the clock, on chance or on anything read outside a step): name steps by literals, and take such values from ctx.now, ctx.random, ` +
    `ctx.uuid or a step. ${codeSentence(facts.started, facts.walking)}`
  );
};

const codeSentence = (started: string | undefined, walking: string | undefined): string => {
  switch (codeVerdict(started, walking)) {
    case "changed":
      return (
        `The code version settles which cause this is: the run was STARTED against bundle ${started} and is being walked by ${walking}, ` +
        `so there was a redeploy in between.`
      );
    case "same":
      return (
        `The code version RULES OUT a redeploy: the run was started and is being walked by ${started}. ` +
        `Look for the computed name or the branch that is not recorded.`
      );
    case "unknown":
      return (
        `The engine cannot say which cause this is, because the code version is missing for ` +
        `${started === undefined ? "the start of the run" : "this process"}: set RUNSTREAM_CODE_VERSION in every worker.`
      );
  }
};
