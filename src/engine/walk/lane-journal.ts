/**
 * The journal of a walk over an EventLog: one append a step.
 *
 * A settled step is told to the body at once, through the codec (law L6), and is recorded in the same append as the next claim, which
 * the next body waits for (law L3). The run's start rides with the first thing recorded, its end with the last step.
 */
import { encodePayload } from "../../events/payload.ts";
import { onDemand } from "../../projections/on-demand.ts";
import { isTerminal, RUNNABLE, type Settlement } from "../../projections/run-state.ts";
import { closeHook } from "../decide/hooks.ts";
import { moveStatus } from "../decide/run.ts";
import { elapseDue, reachSleep } from "../decide/sleeps.ts";
import { claimAttempt, noteRetry, releaseAttempt, settleStep } from "../decide/steps.ts";
import { type NativeJournal, nativeOf } from "../journal/native-journal.ts";
import {
  assertReadable,
  entriesOf,
  entryOf,
  hookRecordOf,
  recordOf,
  settledOf,
  sleepsOf,
} from "../journal/records.ts";
import type { JournalStore, StepEntry } from "../journal-store.ts";
import { RejectionError } from "../rejection-error.ts";
import { Lane } from "../session/lane.ts";
import { isSettled } from "../session/settlements.ts";
import { plainSteps, plainWalkJournal, type WalkJournal } from "./walk-journal.ts";

/** How many notes of tries wait for company at most: a step may be tried for ever. */
const NOTES_KEPT = 16;

/**
 * The best a walk can get out of `store`. A walk that goes by the stream has to start from the stream: where somebody replaced what says
 * how a run stands, a walk that is done again would start from the same answers, and be overtaken for ever.
 */
export const openWalkJournal = (store: JournalStore, runId: string, clock: () => number): WalkJournal => {
  const native = nativeOf(store.appendStep);
  const reads = [store.readSteps, store.readSleeps, store.settlements];
  if (native === undefined || reads.some((read) => nativeOf(read) !== native))
    return plainWalkJournal(store, runId, clock);
  return laneJournal(store, native, runId);
};

const laneJournal = (store: JournalStore, native: NativeJournal, runId: string): WalkJournal => {
  const { clock } = native;
  const inside = plainSteps(store, runId);
  const session = native.sessions.get(runId);
  const lane = new Lane();
  let lastSettled: Promise<unknown> | undefined;
  /** The last step that the body was told of, while it is on its way; those before it get there first. */
  let told: Promise<StepEntry> | undefined;
  /** A step or a read that the body was told of and that never gets there: those after it may get there all the same. */
  let lost: Promise<StepEntry> | undefined;
  session.openLane(lane);

  /** What stands in for functions that somebody replaced; mostly nobody has. */
  const plain = onDemand(() => plainWalkJournal(store, runId, clock, inside));
  const own = (...methods: (keyof JournalStore)[]): boolean =>
    methods.every((method) => nativeOf(store[method]) === native);
  /** A function somebody replaced knows nothing of the lane: what the walk recorded must be in the store before it is called. */
  const afterDrain =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await session.flush();
      assertSound();
      return call(...args);
    };
  const assertSound = (): void => {
    if (lane.failure !== undefined) throw lane.failure;
    if (lane.stale) throw new RejectionError("Superseded", runId);
  };

  const open: WalkJournal["open"] = async (reaching) => {
    const found = await session.current(reaching);
    if (isTerminal(found.status))
      return { record: recordOf(runId, found), steps: [], sleeps: [], moved: false };
    assertReadable(runId, found.created?.input?.sealed);
    const due = [...found.sleeps.values()].some(
      (sleep) => sleep.over === undefined && sleep.wakeAt <= clock(),
    );
    if (due) await session.propose(elapseDue(clock()), { lane });
    const { state } = session;
    return {
      record: recordOf(runId, state),
      steps: entriesOf(runId, state),
      sleeps: sleepsOf(state),
      moved: true,
    };
  };

  /** Lazy: the start of a run is worth no append of its own. That it failed shows in the proposal it rides with. */
  const begin = (): void => {
    session
      .propose(moveStatus("running", {}, RUNNABLE, clock()), {
        lane,
        lazy: true,
        timeless: true,
      })
      .catch(() => {});
  };

  const settle: WalkJournal["settle"] = (entry) => {
    const settled = settledOf(entry);
    lane.settling({ of: "step", key: entry.key });
    const recorded: Promise<StepEntry> = session
      .propose(settleStep(settled), { lane, stands: ({ mine }) => mine, happened: ran(entry) })
      .then(
        (settlement) => {
          if (!settlement.mine) {
            lost ??= recorded;
            throw new RejectionError("Superseded", runId);
          }
          if (told === recorded) told = undefined;
          return entryOf(runId, settlement.entry);
        },
        (error: unknown) => {
          lost ??= recorded;
          throw error;
        },
      );
    lastSettled = recorded;
    told = recorded;
    return { early: entryOf(runId, settled), recorded };
  };

  /** What may settle by this proposal has its place in the order from now on; answered, it stands there or there is nothing. */
  const settling = async <T>(what: Settlement, propose: () => Promise<T>): Promise<T> => {
    lane.settling(what);
    try {
      return await propose();
    } finally {
      lane.settled(what);
    }
  };

  const opensOurselves = own("getRun", "setStatus");
  return {
    inside,
    open: opensOurselves ? open : plain().open,
    begin: opensOurselves ? begin : plain().begin,
    settlements: async () => [...session.state.settled],
    settle,
    unrecorded: () => lost ?? told,
    wasClaimed: (key) => (session.state.charges.get(key) ?? []).length > 0,
    readStep: inside.readStep,
    claimAttempt: own("claimAttempt")
      ? (key, holder, leaseMs) =>
          session.propose(claimAttempt({ key, holder, leaseMs, at: clock() }), { lane })
      : afterDrain(plain().claimAttempt),
    releaseAttempt: own("releaseAttempt")
      ? (key, holder) => session.propose(releaseAttempt(key, holder, clock()), { lane })
      : afterDrain(plain().releaseAttempt),
    reachSleep: own("claimSleep")
      ? async (key, wakeAt, correlationId, kind, proposing) => {
          proposing();
          const wait = { key, wakeAt, kind, correlationId, at: clock() };
          const sleep = await settling({ of: "sleep", key }, () =>
            session.propose(reachSleep(wait), { lane }),
          );
          return { wakeAt: sleep.wakeAt, over: sleep.over !== undefined };
        }
      : afterDrain(plain().reachSleep),
    claimHook: own("claimHook")
      ? async (key, token) => {
          const held = session.state.hooks.get(key);
          if (held !== undefined) return hookRecordOf(runId, held);
          // A token is reserved in a stream of its own, so what made the body ask for it must be recorded before (law L3).
          await lastSettled?.catch(() => {});
          assertSound();
          return hookRecordOf(runId, await native.claimHook(runId, key, token, { lane }));
        }
      : afterDrain(plain().claimHook),
    closeHook: own("closeHook")
      ? (key) => settling({ of: "hook", key }, () => session.propose(closeHook(key, clock()), { lane }))
      : afterDrain(plain().closeHook),
    noteRetry: ({ key, attempt, maxAttempts, message, delayMs }) => {
      const note = { key, attempt, maxAttempts, error: { message }, delayMs, at: clock() };
      session
        .propose(noteRetry(note), { lane, lazy: delayMs === 0 && attempt % NOTES_KEPT !== 0, timeless: true })
        .catch(() => {});
    },
    finish: own("setStatus")
      ? async (status, { output, error }) =>
          session.propose(
            moveStatus(status, { output: encodePayload(output, "output"), error }, ["running"], clock()),
            { lane },
          )
      : afterDrain(plain().finish),
    drain: async () => {
      await session.flush();
      if (lane.failure !== undefined) throw lane.failure;
    },
    asked: (what) => {
      // With an outcome that the walk did not start from.
      if (isSettled(session.state, what)) lane.overtake();
      lane.asked(what);
    },
    answered: (what) => lane.answered(what),
    parked: (what, resume) => lane.parked(what, resume),
    unparked: (what) => lane.unparked(what),
    whenStale: (listener) => lane.whenStale(listener),
    close: () => {
      session.closeLane(lane);
      session.flush().catch(() => {});
    },
  };
};

/** Not a read, which is claimed by nobody: it may follow from what the stream will never have, and then no later walk asks for it. */
const ran = ({ attempts }: StepEntry): boolean => attempts > 0;
