/**
 * A batch: what was proposed to a run session in one turn, decided in order, each proposal on the state that the ones before it make.
 *
 * Not here: when a batch is decided, how it is written, and what a conflict does to it (run-session.ts).
 */
import { isLeft } from "fp-ts/lib/Either.js";
import type { RunEvent } from "../../events/catalogue.ts";
import { encodeEvent } from "../../events/codec.ts";
import type { EventData } from "../../events/event-log.ts";
import { evolve, type RunState, speculate } from "../../projections/run-state.ts";
import type { Decide } from "../decide/decision.ts";
import { RejectionError } from "../rejection-error.ts";
import type { Lane } from "./lane.ts";

export interface ProposeOptions<A> {
  /** The walk that proposes; its proposals are void once its lane is. */
  readonly lane?: Lane | undefined;
  /** Do not start an append for this: it may ride with the next one. */
  readonly lazy?: boolean;
  /** Still recorded when the lane is void, because it happened: a body ran under a claim that stands. Default `false`. */
  readonly happened?: boolean;
  /** Answers whether this command's own facts are the ones that stand; where they are not, the lane is void. */
  readonly stands?: (answer: A) => boolean;
  /** Try it on an absent stream without reading first. */
  readonly creates?: boolean;
  /** The answer is right on any state: no look at the log is owed where it needs no event. */
  readonly timeless?: boolean;
}

export interface Proposal {
  readonly decide: Decide<unknown>;
  readonly options: ProposeOptions<unknown>;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome =
  | { readonly ok: true; readonly answer: unknown }
  | { readonly ok: false; readonly error: unknown };

export interface Batch {
  readonly proposals: readonly Proposal[];
  readonly outcomes: readonly Outcome[];
  readonly events: readonly RunEvent[];
  /** The same, as they are written. */
  readonly data: readonly EventData[];
  /** Which lane an event came from: facts of one's own do not overtake one. */
  readonly sources: readonly (Lane | undefined)[];
}

/** Decides `proposals` on `current`, which it leaves as it is, and lets the lanes see what comes of them (lane.ts, N2). */
export const decideBatch = (
  runId: string,
  current: RunState,
  proposals: readonly Proposal[],
  lanes: ReadonlySet<Lane>,
): Batch => {
  const last = proposals.at(-1);
  const state = proposals.length === 1 ? current : speculate(current);
  const outcomes: Outcome[] = [];
  const events: RunEvent[] = [];
  const data: EventData[] = [];
  const sources: (Lane | undefined)[] = [];
  for (const lane of lanes) lane.beginDecision();
  for (const proposal of proposals) {
    const { decide, options } = proposal;
    const { lane, stands } = options;
    const obstacle = obstacleTo(runId, options);
    if (obstacle !== undefined) {
      outcomes.push({ ok: false, error: obstacle });
      continue;
    }
    const decision = decide(state);
    if (isLeft(decision)) {
      outcomes.push({ ok: false, error: new RejectionError(decision.left._tag, runId) });
      continue;
    }
    const { answer, events: decided } = decision.right;
    try {
      for (const event of decided) data.push(encodeEvent(event));
    } catch (error) {
      // What cannot be written fails whoever proposed it, and nobody else in the batch.
      data.length = events.length;
      outcomes.push({ ok: false, error });
      continue;
    }
    outcomes.push({ ok: true, answer });
    if (stands?.(answer) === false) lane?.doubt();
    for (const event of decided) {
      // Nobody decides on what the last one makes.
      if (proposal !== last) evolve(state, event, state.revision + 1);
      lane?.decidedOwn(event);
      for (const other of lanes) if (other !== lane) other.decidedForeign(event);
      events.push(event);
      sources.push(lane);
    }
  }
  return { proposals, outcomes, events, data, sources };
};

/** Why a proposal is not even decided: its lane failed, or is void and this is not a fact that happened. */
const obstacleTo = (runId: string, { lane, happened }: ProposeOptions<unknown>): unknown => {
  if (lane?.failure !== undefined) return lane.failure;
  return lane?.void === true && happened !== true ? new RejectionError("Superseded", runId) : undefined;
};

/** The batch is in the stream, right after `state`: folds it in and tells the lanes. */
export const foldBatch = (state: RunState, { events, sources }: Batch, lanes: ReadonlySet<Lane>): void => {
  for (const [index, event] of events.entries()) {
    const source = sources[index];
    evolve(state, event, state.revision + 1);
    source?.recordedOwn(event);
    for (const lane of lanes) if (lane !== source) lane.recordedForeign(event);
  }
};

/** Tells the lanes and then the proposers what came of the batch. */
export const answerBatch = ({ proposals, outcomes }: Batch, lanes: ReadonlySet<Lane>): void => {
  for (const lane of lanes) lane.endDecision();
  for (const [index, outcome] of outcomes.entries()) {
    const proposal = proposals[index];
    if (outcome.ok) proposal?.resolve(outcome.answer);
    else proposal?.reject(outcome.error);
  }
};

/** The store did not take the proposals: they fail, and so does what follows in their lanes. */
export const failProposals = (proposals: readonly Proposal[], error: unknown): void => {
  for (const { options, reject } of proposals) {
    options.lane?.fail(error);
    reject(error);
  }
};
