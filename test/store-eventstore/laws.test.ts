/**
 * The laws over EventStoreDB, with everything going wrong that the stand-in node can have go wrong: random workflows on two workers, while
 * calls of the node are delayed, lost before or after they took effect, refused or broken off, its events come twice, and it is killed.
 *
 * Whatever happens, every run ends as the oracle says it must, each of its steps settles once (L4), and its body walked again over what
 * the stream holds does the same once more and runs nothing (L1).
 */
import { inspect, isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openRunstream, type Runstream } from "../../src/embedded/runstream.ts";
import { RejectionError } from "../../src/engine/rejection-error.ts";
import { type AnyWorkflowDef, workflow } from "../../src/engine/workflow.ts";
import type { EventLog, RecordedEvent } from "../../src/events/event-log.ts";
import { StoreError } from "../../src/events/store-error.ts";
import { runStream } from "../../src/events/stream-names.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { runstreamArbitraries } from "../../src/testing/arbitraries.ts";
import { answersOf, outcomeOf } from "../../src/testing/workflow-program-oracle.ts";
import { bodyOf, type WorkflowProgram } from "../../src/testing/workflow-programs.ts";
import type { Fault, FaultKind, FaultPoint } from "../esdb-node/faults.ts";
import type { StandInNode } from "../esdb-node/node.ts";
import { collect, put, testScene } from "./kit.ts";

const HISTORIES = Number(process.env.RUNSTREAM_HISTORIES ?? 12);
const WORKERS = 2;

/** Short deadlines: a lost answer is noticed soon, and the test does not take for ever. */
const IMPATIENT = { deadlineMs: 400, retryForMs: 4_000, reconnectForMs: 60_000, heartbeatMs: 300 };

type Trouble = Fault | "kill" | "redeliver";

const faultOn = (on: FaultPoint, ...kinds: FaultKind[]): fc.Arbitrary<Fault> =>
  fc.record({
    on: fc.constant(on),
    kind: fc.constantFrom(...kinds),
    skip: fc.nat({ max: 6 }),
    times: fc.integer({ min: 1, max: 2 }),
    delayMs: fc.integer({ min: 1, max: 60 }),
  });

const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  { weight: 4, arbitrary: faultOn("append", "delay", "stall", "drop", "timeoutBefore", "timeoutAfter") },
  { weight: 3, arbitrary: faultOn("append", "busy", "cancelled", "unavailable", "unavailableAfter") },
  { weight: 2, arbitrary: faultOn("read", "delay", "stall", "cancelled", "unavailable") },
  { weight: 2, arbitrary: faultOn("subscribe", "duplicate", "cancelled", "unavailable") },
  { weight: 2, arbitrary: faultOn("consume", "duplicate", "cancelled", "unavailable") },
  { weight: 1, arbitrary: fc.constantFrom<Trouble>("kill", "redeliver") },
);

const strike = async (node: StandInNode, what: Trouble): Promise<void> => {
  if (what === "kill") await node.restart();
  else if (what === "redeliver") node.redeliver();
  else node.faults.add(what);
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Asks until the store answers: what it did with a lost question shows in its next answer. */
const insist = async <T>(ask: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!StoreError.is(error)) throw error;
      await pause(20);
    }
  }
};

const start = (client: Runstream, name: string): Promise<string> =>
  insist(() =>
    client.start(name, {}, { runId: name }).catch((error: unknown) => {
      if (RejectionError.is(error, "RunExists")) return name;
      throw error;
    }),
  );

/** Answers whatever the run waits for, and cuts its sleeps short, until it is over. */
const drive = async (client: Runstream, runId: string, program: WorkflowProgram) => {
  const answers = [...answersOf(program, runId)];
  for (let round = 0; round < 600; round += 1) {
    const run = await insist(() => client.get(runId));
    if (run !== undefined && run.status !== "pending" && run.status !== "running") return run;
    for (const [token, answer] of answers) await insist(() => client.signal(token, answer));
    await insist(() => client.wakeUp(runId));
    await pause(10);
  }
  throw new Error(`run ${runId} does not end`);
};

/** Stricter than `toEqual`, and it says what differs. */
const expectSame = (runId: string, got: unknown, wanted: unknown): void => {
  if (!isDeepStrictEqual(got, wanted)) expect.fail(`${runId}: ${inspect(got)} is not ${inspect(wanted)}`);
};

/** A client's signal of nothing is one of `{}`, and the program would hear something else than it waits for. */
const canBeAnswered = (program: WorkflowProgram): boolean =>
  [...answersOf(program, "").values()].every((answer) => answer !== null && answer !== undefined);

const ENDS = ["RunCompleted", "RunFailed", "RunCancelled"];

/** Walks the run again over a copy of its stream that stops before the end, where no body may run. */
const walkAgain = async (facts: readonly RecordedEvent[], runId: string, program: WorkflowProgram) => {
  const log: EventLog = createMemoryLog();
  const recorded = facts.filter(({ type }) => !ENDS.includes(type));
  await put(log, runStream(runId), "none", ...recorded);
  const ran: string[] = [];
  const again = workflow({ run: bodyOf(program, { onStep: (name) => ran.push(name) }) });
  const runstream = openRunstream({ store: log, workflows: { [runId]: again } });
  runstream.work();
  const outcome = await runstream.result(runId, { timeoutMs: 20_000 });
  await runstream.stop();
  return { outcome, ran };
};

describe("runs on EventStoreDB, whatever goes wrong with it", () => {
  const scene = testScene();
  let born = 0;

  const live = async (programs: readonly WorkflowProgram[], troubles: readonly Trouble[]): Promise<void> => {
    const node = await scene.node({ tickMs: 50, commitTimeoutMs: 200 });
    const named = programs.map((program) => ({ runId: `run-${born++}`, program }));
    const workflows: Record<string, AnyWorkflowDef> = Object.fromEntries(
      named.map(({ runId, program }) => [runId, workflow({ run: bodyOf(program) })]),
    );
    const logs = await Promise.all(
      Array.from({ length: WORKERS + 1 }, () => scene.open(node.connectionString, IMPATIENT)),
    );
    const [client, ...workers] = logs.map((store) => openRunstream({ store, workflows })) as [
      Runstream,
      ...Runstream[],
    ];
    for (const worker of workers) worker.work();
    let over = false;
    const weather = (async () => {
      for (const what of troubles) {
        if (over) return;
        await strike(node, what);
        await pause(15);
      }
    })();
    try {
      const ended = await Promise.all(
        named.map(async ({ runId, program }) => {
          await start(client, runId);
          return drive(client, runId, program);
        }),
      );
      over = true;
      await weather;
      node.faults.clear();
      for (const [index, { runId, program }] of named.entries()) {
        const expected = outcomeOf(program);
        const run = ended[index]!;
        expect([runId, run.status]).toEqual([runId, expected.status]);
        if (run.status === "failed" && expected.status === "failed") expect(run.error).toBe(expected.error);
        if (run.status === "completed" && expected.status === "completed")
          expectSame(runId, run.output, expected.output);
        const facts = await collect(logs[0]!.read(runStream(runId)));
        const settled = facts.filter(({ type }) => type === "StepSettled").map(({ data }) => data.key);
        expect([...settled].sort()).toEqual([...expected.keys]);
        expect(facts.filter(({ type }) => ENDS.includes(type))).toHaveLength(1);
        const { outcome, ran } = await walkAgain(facts, runId, program);
        expect([runId, outcome.status, ran]).toEqual([runId, run.status, []]);
        if (outcome.status === "completed" && run.status === "completed")
          expectSame(runId, outcome.output, run.output);
      }
    } finally {
      over = true;
      await Promise.all([client, ...workers].map((runstream) => runstream.stop({ graceMs: 200 })));
      await Promise.all(logs.map((log) => log.close()));
      await node.stop();
    }
  };

  it("end as the oracle says, settle each step once, and are the same when walked again", async () => {
    const programs = runstreamArbitraries(fc).program().filter(canBeAnswered);
    await fc.assert(
      fc.asyncProperty(
        fc.array(programs, { minLength: 1, maxLength: 3 }),
        fc.array(trouble, { maxLength: 24 }),
        live,
      ),
      { numRuns: HISTORIES, endOnFailure: true },
    );
  }, 240_000);
});
