/** Two workers on one thread: the expected revision decides, and the loser is told. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EventLog } from "../../../src/events/event-log.ts";
import { foldThread } from "../../../src/projections/thread-state.ts";
import {
  type GraphCheckpoint,
  logCheckpointer,
  ThreadConflictError,
  type Workflow,
  type WorkflowEvent,
  workflow,
} from "../../../src/threads/index.ts";
import { viewCheckpoint } from "../../../src/threads/log/checkpoint-view.ts";
import { eventsOf, openLog, plain, STORES, typesOf } from "./kit.ts";

/** A body stands in `reached` until the test lets it go on. */
const gate = () => {
  const reached = Promise.withResolvers<void>();
  const open = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    open: open.resolve,
    pass: (): Promise<void> => {
      reached.resolve();
      return open.promise;
    },
  };
};

const drain = async (events: AsyncIterable<WorkflowEvent>): Promise<WorkflowEvent | undefined> => {
  let last: WorkflowEvent | undefined;
  for await (const event of events) last = event;
  return last;
};

/** A worker of its own: a workflow over a checkpointer that has folded nothing. */
const worker = (log: EventLog, name: string, before: () => Promise<void> = async () => {}): Workflow =>
  workflow(
    async (_input, { step, interrupt }) => {
      const first = await step("first", async () => {
        await before();
        return name;
      });
      const answer = interrupt<string>({ reason: "Which?" });
      const second = await step("second", async () => {
        await before();
        return name;
      });
      return [first, answer, second];
    },
    { name: "two", checkpointer: logCheckpointer(log) },
  );

describe.each(STORES)("on a %s log, of two workers on one thread", (store) => {
  test("the first to record a step goes on; the other is refused, and overwrites nothing", async () => {
    const log = await openLog(store);
    await worker(log, "beginner").invoke(null, { threadId: "t" });
    const [a, b] = [gate(), gate()];
    const early = drain(worker(log, "early", a.pass).resume("t", "left"));
    const late = drain(worker(log, "late", b.pass).resume("t", "right"));
    await Promise.all([a.reached, b.reached]);
    a.open();
    expect(await early).toMatchObject({ type: "done", output: ["beginner", "left", "early"] });
    const before = await typesOf(log, "t");
    b.open();
    await expect(late).rejects.toMatchObject({ name: "ThreadConflictError", threadId: "t" });
    expect(await typesOf(log, "t")).toEqual(before);
    expect(await worker(log, "reader").state("t")).toMatchObject({
      status: "completed",
      resolved: { "two:interrupt:0": "left" },
      state: { output: ["beginner", "left", "early"] },
    });
  });

  test("that began it anew at once, one has it, and the other is refused", async () => {
    const log = await openLog(store);
    const [a, b] = [gate(), gate()];
    const first = worker(log, "a", a.pass).invoke(1, { threadId: "t" });
    const second = worker(log, "b", b.pass).invoke(2, { threadId: "t" });
    await Promise.all([a.reached, b.reached]);
    b.open();
    expect(await second).toMatchObject({ status: "awaiting_input" });
    a.open();
    await expect(first).rejects.toSatisfy(ThreadConflictError.is);
    expect(await worker(log, "reader").state("t")).toMatchObject({ state: { input: 2 } });
  });

  test("the loser may carry the thread on afterwards", async () => {
    const log = await openLog(store);
    const [a, b] = [gate(), gate()];
    const first = worker(log, "a", a.pass).invoke(1, { threadId: "t" });
    const loser = worker(log, "b", b.pass);
    const second = loser.invoke(1, { threadId: "t" });
    await Promise.all([a.reached, b.reached]);
    a.open();
    await first;
    b.open();
    await expect(second).rejects.toSatisfy(ThreadConflictError.is);
    expect(await drain(loser.resume("t", "x"))).toMatchObject({ type: "done", output: ["a", "x", "b"] });
  });
});

describe("concurrent continues of one thread", () => {
  test("never both write: whatever the timing, the checkpoints of the losers are not in the stream", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2, max: 4 }),
        fc.array(fc.array(fc.nat({ max: 3 }), { minLength: 6, maxLength: 6 }), {
          minLength: 4,
          maxLength: 4,
        }),
        fc.boolean(),
        async (workers, waits, inOneProcess) => {
          const log = await openLog("memory");
          const shared = logCheckpointer(log);
          const run = (name: number): Workflow =>
            workflow(
              async (_input, { step }) => {
                const done: unknown[] = [];
                for (let i = 0; i < 6; i += 1)
                  done.push(
                    await step(`s${i}`, async () => {
                      for (let n = waits[name]?.[i] ?? 0; n > 0; n -= 1)
                        await new Promise((resolve) => setImmediate(resolve));
                      return name;
                    }),
                  );
                return done;
              },
              { checkpointer: inOneProcess ? shared : logCheckpointer(log) },
            );
          const failing = workflow(
            async () => {
              throw new Error("not yet");
            },
            { checkpointer: logCheckpointer(log) },
          );
          await expect(failing.invoke(null, { threadId: "t" })).rejects.toThrow("not yet");
          const ends = await Promise.allSettled(
            Array.from({ length: workers }, (_, name) => drain(run(name).continue("t"))),
          );
          const lost = ends.filter((end) => end.status === "rejected");
          expect(lost.every(({ reason }) => ThreadConflictError.is(reason))).toBe(true);
          // Some may come when another one is through, and have nothing to do.
          expect(lost.length).toBeLessThan(workers);
          const events = await eventsOf(log, "t");
          const numbers = events.flatMap(({ data }) => ("checkpoint" in data ? [data.checkpoint] : []));
          expect(numbers).toEqual(numbers.map((_, at) => at + 1));
          const { checkpoints } = foldThread(events);
          const last = viewCheckpoint("t", checkpoints.at(-1)!) as GraphCheckpoint;
          expect(plain(last)).toMatchObject({ status: "completed", step: numbers.length });
          const keys = events.flatMap((event) =>
            event.type === "ThreadStepSettled" ? [event.data.key] : [],
          );
          expect(keys).toEqual(["s0", "s1", "s2", "s3", "s4", "s5"]);
        },
      ),
      { numRuns: 40 },
    );
  });
});
