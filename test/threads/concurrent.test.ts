/**
 * Two workers on one thread of a log: never both write. Who writes first goes on; the other is told, by a typed error, and has overwritten
 * nothing. On checkpointers that are no log nobody decides between them, and nothing is promised.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type GraphCheckpointer,
  ThreadConflictError,
  type WorkflowEvent,
  workflow,
} from "../../src/threads/index.ts";
import { expected, programs } from "./programs.ts";
import { failureOf, last, listed } from "./reading.ts";
import { LOGGED_STORES, onEach } from "./stores.ts";
import { inTime, pause, withTimeAtRest } from "./time.ts";
import { days, liveThrough } from "./weather.ts";

withTimeAtRest();

/** So many arrive, and then all go on. */
const barrier = (size: number) => {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  let arrived = 0;
  return (): Promise<void> => {
    arrived += 1;
    if (arrived === size) open();
    return opened;
  };
};

type End = { readonly event: WorkflowEvent } | { readonly error: unknown };

const endOf = (events: AsyncIterable<WorkflowEvent>): Promise<End> =>
  last(events).then(
    (event) => ({ event }),
    (error: unknown) => ({ error }),
  );

onEach(LOGGED_STORES, "a thread of two workers", (store) => {
  /** A worker that says who it is, and waits for the others in the step that it cannot answer from the record. */
  const worker = (name: string, together: () => Promise<void>, checkpointer: GraphCheckpointer, ms = 0) =>
    workflow(
      async (_: string, { step }) => {
        const first = await step("first", () => "by the first worker");
        const second = await step("second", async () => {
          await together();
          await pause(ms);
          return name;
        });
        return [first, second, await step("third", () => name)];
      },
      { checkpointer },
    );

  /** A thread whose first step is recorded, and whose worker is gone. */
  const begun = async (threadId: string): Promise<void> => {
    const failing = workflow(
      async (_: string, { step }) => {
        await step("first", () => "by the first worker");
        throw new Error("gone");
      },
      { checkpointer: store().worker() },
    );
    await failureOf(failing.invoke("input", { threadId }));
  };

  test.each([
    ["each with a checkpointer of its own", false],
    ["on one checkpointer", true],
  ])("one of two that continue it writes, and the other is told: %s", async (_, shared) => {
    await begun("t");
    const one = store().worker();
    const checkpointers = [one, shared ? one : store().worker()];
    const together = barrier(2);
    const ends = await inTime(
      Promise.all(
        checkpointers.map((checkpointer, index) =>
          endOf(worker(`worker ${index}`, together, checkpointer).continue("t")),
        ),
      ),
    );
    const won = ends.filter((end) => "event" in end);
    const lost = ends.flatMap((end) => ("error" in end ? [end.error] : []));
    expect(won).toHaveLength(1);
    expect(lost).toHaveLength(1);
    expect(lost[0]).toBeInstanceOf(ThreadConflictError);
    expect(lost[0]).toMatchObject({ code: "THREAD_CONFLICT", threadId: "t" });
    const winner = `worker ${ends.findIndex((end) => "event" in end)}`;
    const output = ["by the first worker", winner, winner];
    expect(won[0]).toMatchObject({ event: { type: "done", output } });
    const reader = worker("reader", together, store().worker());
    expect((await reader.state("t"))?.state).toMatchObject({
      output,
      steps: { first: { value: output[0] }, second: { value: winner }, third: { value: winner } },
    });
    expect((await reader.history("t")).map(({ step, status }) => [step, status])).toEqual([
      [5, "completed"],
      [4, "running"],
      [3, "running"],
      [2, "failed"],
      [1, "running"],
    ]);
  });

  test("of any number that continue it, however slow each of them is, one alone has written", async () => {
    let threads = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 5 }), { minLength: 2, maxLength: 4 }), async (delays) => {
        threads += 1;
        const threadId = `t-${threads}`;
        await begun(threadId);
        const together = barrier(delays.length);
        const wrote: string[] = [];
        const ends = await inTime(
          Promise.all(
            delays.map((ms, index) => {
              const name = `worker ${index}`;
              const passage = {
                read: <T>(work: () => Promise<T>) => work(),
                write: async <T>(work: () => Promise<T>) => {
                  const answer = await work();
                  const refused = (answer as { readonly _tag?: string } | undefined)?._tag === "Left";
                  if (!refused) wrote.push(name);
                  return answer;
                },
              };
              return endOf(worker(name, together, store().worker(passage), ms).continue(threadId));
            }),
          ),
        );
        const winners = ends.flatMap((end, index) => ("event" in end ? [`worker ${index}`] : []));
        expect(winners).toHaveLength(1);
        expect(new Set(wrote)).toEqual(new Set(winners));
        for (const end of ends) if ("error" in end) expect(end.error).toBeInstanceOf(ThreadConflictError);
      }),
      { numRuns: 25 },
    );
  }, 60_000);

  test("of two that start one new thread, one has it", async () => {
    const together = barrier(2);
    const starting = (name: string) =>
      workflow(
        (_: string, { step }) =>
          step("first", async () => {
            await together();
            return name;
          }),
        { checkpointer: store().worker() },
      );
    const start = (name: string) => endOf(starting(name).stream("input", { threadId: "t" }));
    const ends = await inTime(Promise.all([start("a"), start("b")]));
    const lost = ends.flatMap((end) => ("error" in end ? [end.error] : []));
    expect(lost).toHaveLength(1);
    expect(lost[0]).toBeInstanceOf(ThreadConflictError);
    const { state, step } = (await starting("reader").state("t"))!;
    expect([step, state.output]).toEqual([2, "error" in ends[0]! ? "b" : "a"]);
  });

  test("of two answers to one question, one counts, and whoever gave the other is told", async () => {
    const together = barrier(2);
    const asking = () =>
      workflow(
        async (_: undefined, { step, interrupt }) => {
          const answer = interrupt<string>({ reason: "well?" });
          await step("wait", together);
          return answer;
        },
        { checkpointer: store().worker() },
      );
    await asking().invoke(undefined, { threadId: "t" });
    const ends = await inTime(
      Promise.all(["yes", "no"].map((answer) => endOf(asking().resume("t", answer)))),
    );
    const [won] = ends.flatMap((end) => ("event" in end ? [end.event] : []));
    const lost = ends.flatMap((end) => ("error" in end ? [end.error] : []));
    expect(lost).toHaveLength(1);
    expect(lost[0]).toBeInstanceOf(ThreadConflictError);
    const state = (await asking().state("t"))!;
    expect(won).toMatchObject({ type: "done", output: state.state.output });
    expect(state.resolved).toEqual({ "workflow:interrupt:0": state.state.output });
  });

  test("who lost may look again and go on", async () => {
    await begun("t");
    const loser = worker("loser", () => inBetween(), store().worker());
    const inBetween = async (): Promise<void> => {
      await listed(worker("winner", async () => {}, store().worker()).continue("t"));
    };
    expect(await inTime(failureOf(listed(loser.continue("t"))))).toBeInstanceOf(ThreadConflictError);
    expect((await loser.state("t"))?.status).toBe("completed");
    expect(await inTime(last(loser.continue("t")))).toMatchObject({
      type: "done",
      output: ["by the first worker", "winner", "winner"],
    });
  });

  test("a random thread comes to the end that its program says, with two workers at a time in any weather", async () => {
    let threads = 0;
    const lost = (error: unknown): boolean =>
      error instanceof Error && ["ThreadConflictError", "GraphNotInterruptedError"].includes(error.name);
    await fc.assert(
      fc.asyncProperty(programs, days(true), async (program, weather) => {
        threads += 1;
        const { last: end } = await liveThrough(store(), `t-${threads}`, program, weather, lost);
        const { output, steps } = expected(program);
        expect(end.state).toEqual({ input: "input", steps, output });
      }),
      { numRuns: 30 },
    );
  }, 60_000);
});
