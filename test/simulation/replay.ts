/**
 * Law L1: a run's stream, replayed by a fresh engine on which no body may run and nothing may be written, leads to the end that the
 * stream has.
 *
 * What had not settled when the run ended stays unsettled here for ever; the end has to be reached without it.
 */
import { createJournal } from "../../src/engine/journal/create-journal.ts";
import type { JournalStore } from "../../src/engine/journal-store.ts";
import { createMemoryStreams } from "../../src/engine/progress-streams.ts";
import { createWorkflowEngine } from "../../src/engine/workflow-engine.ts";
import { hookStream } from "../../src/events/stream-names.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { runProgram, show } from "./body.ts";
import type { Ledger, RunFacts } from "./ledger.ts";
import type { Program } from "./program.ts";
import type { Scheduler } from "./scheduler.ts";
import { Violation } from "./violation.ts";

/** A run whose clock stands here has nothing due: what is over is over by the stream. */
const LONG_AGO = 0;

export const replay = async (
  facts: RunFacts,
  program: Program,
  ledger: Ledger,
  { quiet }: Pick<Scheduler, "quiet">,
): Promise<void> => {
  const { runId } = facts;
  const end = facts.decoded.at(-1);
  if (end?.type !== "RunCompleted" && end?.type !== "RunFailed") return;
  const log = createMemoryLog({ clock: () => LONG_AGO });
  await log.append(`run-${runId}`, "none", facts.events.slice(0, -1))();
  for (const { token } of facts.state.hooks.values()) {
    await log.append(hookStream(token), "none", ledger.tokens.get(hookStream(token)) ?? [])();
  }
  const journal = createJournal(log, { index: noIndex, clock: () => LONG_AGO });
  const forever = new Promise<never>(() => {});
  let reached: string | undefined;
  const readOnly: JournalStore = {
    ...journal,
    setStatus: async (_, next, patch) => {
      if (next === "running") return true;
      reached = `${next} ${show(patch?.output ?? patch?.error?.message)}`;
      return forever;
    },
    appendStep: () => forever,
    claimAttempt: () => forever,
    closeHook: () => forever,
    claimSleep: async (_, key) => {
      const stored = (await journal.readSleeps(runId)).find((sleep) => sleep.key === key);
      return stored ?? forever;
    },
    claimHook: async (_, key, token) =>
      facts.state.hooks.has(key) ? journal.claimHook(runId, key, token) : forever,
  };
  const lawless = (what: string) => () => {
    throw new Violation("L1", `run ${runId}, replayed from its stream, ${what}`);
  };
  const engine = createWorkflowEngine({
    workflows: {
      generated: {
        run: (_, ctx) =>
          runProgram(program, ctx, {
            bodyStarts: lawless("runs a body"),
            pause: () => forever,
            saw: () => {},
            troubled: () => {},
          }),
      },
    },
    journal: readOnly,
    streams: createMemoryStreams(),
    dispatch: () => {},
    clock: () => LONG_AGO,
  });
  const delivery = engine.execute(runId).then(
    (status) => `answers ${status} without an end`,
    (error: unknown) => `throws ${String(error)}`,
  );
  for (let turn = 0; turn < 50 && reached === undefined; turn += 1) await quiet();
  const outcome = reached ?? (await Promise.race([delivery, Promise.resolve("goes no further")]));
  const { state } = facts;
  const record = await engineRecord(facts);
  const expected = `${state.status} ${show(state.status === "completed" ? record.output : state.error?.message)}`;
  if (outcome !== expected) {
    throw new Violation(
      "L1",
      `run ${runId} ended as ${expected}, but replayed from its stream it is ${outcome}`,
    );
  }
};

/** The record of the run as a reader of the whole stream gets it. */
const engineRecord = async (facts: RunFacts): Promise<{ output?: unknown }> => {
  const log = createMemoryLog();
  await log.append(`run-${facts.runId}`, "none", facts.events)();
  return (await createJournal(log, { index: noIndex }).getRun(facts.runId)) ?? {};
};

const noIndex = (): never => {
  throw new Error("a replay lists nothing");
};
