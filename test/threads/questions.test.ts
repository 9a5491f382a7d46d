/** Questions: how many are asked at once, how they are told apart, and what counts as an answer. */
import { expect, test } from "vitest";
import { GraphError, type WorkflowContext, workflow } from "../../src/threads/index.ts";
import { failureOf, last, listed, listener } from "./reading.ts";
import { onEach, STORES } from "./stores.ts";
import { inTime, pause, withTimeAtRest } from "./time.ts";

withTimeAtRest();

onEach(STORES, "questions", (store) => {
  const twoBranches = () =>
    workflow(
      async (_: undefined, { interrupt }) => {
        const branch = async (name: string) => interrupt<string>({ reason: `${name}?` });
        return Promise.all([branch("a"), branch("b")]);
      },
      { name: "pair", checkpointer: store().worker() },
    );
  const ids = (result: { readonly interrupts?: readonly { readonly id: string }[] }) =>
    result.interrupts?.map(({ id }) => id);

  test("19.4/7 two branches ask two questions, and resume answers the first of them", async () => {
    const asked = await twoBranches().invoke(undefined, { threadId: "t" });
    expect(asked.interrupts).toMatchObject([
      { id: "pair:interrupt:0", reason: "a?", index: 0 },
      { id: "pair:interrupt:1", reason: "b?", index: 1 },
    ]);
    const half = await twoBranches().resumeWith("t", "A");
    expect(half).toMatchObject({ status: "awaiting_input", interrupt: { id: "pair:interrupt:1" } });
    expect(ids(half)).toEqual(["pair:interrupt:1"]);
    expect((await twoBranches().state("t"))?.resolved).toEqual({ "pair:interrupt:0": "A" });
    expect((await twoBranches().resumeWith("t", "B")).output).toEqual(["A", "B"]);
  });

  test("19.4/7 both are answered by their ids in one call", async () => {
    await twoBranches().invoke(undefined, { threadId: "t" });
    const answers = { "pair:interrupt:1": "B", "pair:interrupt:0": "A" };
    expect(await last(twoBranches().resumeInterrupts("t", answers))).toMatchObject({
      type: "done",
      output: ["A", "B"],
    });
  });

  test("19.4/7 no answer at all asks the same questions again, in a checkpoint of its own", async () => {
    await twoBranches().invoke(undefined, { threadId: "t" });
    const again = await last(twoBranches().resumeInterrupts("t", {}));
    expect(again).toMatchObject({ type: "interrupt", status: "awaiting_input", step: 2 });
    expect("interrupts" in again && ids(again)).toEqual(["pair:interrupt:0", "pair:interrupt:1"]);
  });

  test("an answer given before may be given again, differently, until the run is over", async () => {
    await twoBranches().invoke(undefined, { threadId: "t" });
    await twoBranches().resumeWith("t", "A");
    const answers = { "pair:interrupt:0": "another A", "pair:interrupt:1": "B" };
    expect(await last(twoBranches().resumeInterrupts("t", answers))).toMatchObject({
      output: ["another A", "B"],
    });
  });

  const one = (seen: unknown[]) =>
    workflow(
      async (_: undefined, { interrupt }) => {
        const answer = interrupt<unknown>({ reason: "well?" });
        seen.push(answer);
        return "answered";
      },
      { checkpointer: store().worker() },
    );

  test.each([false, null, 0, "", undefined])("19.4/8 %j is an answer", async (answer) => {
    const seen: unknown[] = [];
    await one(seen).invoke(undefined, { threadId: "t" });
    expect((await one(seen).resumeWith("t", answer)).status).toBe("completed");
    expect(seen).toEqual([answer]);
  });

  test("19.4/8 an answer to a question that nobody asked is kept and ignored", async () => {
    const seen: unknown[] = [];
    await one(seen).invoke(undefined, { threadId: "t" });
    const still = await last(one(seen).resumeInterrupts("t", { "workflow:interrupt:9": 1 }));
    expect(still).toMatchObject({ status: "awaiting_input", interrupt: { id: "workflow:interrupt:0" } });
    await listed(one(seen).resumeInterrupts("t", { "workflow:interrupt:0": "yes", constructor: 2 }));
    expect(seen).toEqual(["yes"]);
  });

  test("19.4/9 a run that catches its question and returns is still waiting, without an output", async () => {
    const swallowing = workflow(
      async (_: undefined, { interrupt }) => {
        try {
          return interrupt<string>({ reason: "well?" });
        } catch {
          return "never mind";
        }
      },
      { checkpointer: store().worker() },
    );
    const asked = await swallowing.invoke(undefined, { threadId: "t" });
    expect(asked).toMatchObject({ status: "awaiting_input", interrupt: { reason: "well?" } });
    expect(asked).not.toHaveProperty("output");
    expect((await swallowing.state("t"))?.state).not.toHaveProperty("output");
    expect((await swallowing.resumeWith("t", "fine")).output).toBe("fine");
  });

  test("a run that catches its question and throws something else has failed, and continue asks again", async () => {
    let throwing = true;
    const replacing = workflow(
      async (_: undefined, { interrupt }) => {
        try {
          return interrupt<string>({ reason: "well?" });
        } catch (error) {
          throw throwing ? new Error("no questions now") : error;
        }
      },
      { checkpointer: store().worker() },
    );
    expect(await failureOf(replacing.invoke(undefined, { threadId: "t" }))).toMatchObject({
      message: "no questions now",
    });
    expect(await replacing.state("t")).toMatchObject({ status: "failed", interrupts: [] });
    throwing = false;
    expect(await last(replacing.continue("t"))).toMatchObject({ status: "awaiting_input" });
  });

  test("19.4/10 a question is asked at the call, so that of two in one expression only the first is", async () => {
    const direct = workflow(
      (_: undefined, { interrupt }) =>
        Promise.all([interrupt<string>({ reason: "a?" }), interrupt<string>({ reason: "b?" })]),
      { checkpointer: store().worker() },
    );
    const asked = await direct.invoke(undefined, { threadId: "t" });
    expect(ids(asked)).toEqual(["workflow:interrupt:0"]);
    expect(ids(await direct.resumeWith("t", 1))).toEqual(["workflow:interrupt:1"]);
    expect((await direct.resumeWith("t", 2)).output).toEqual([1, 2]);
  });

  test("a branch that awaits a step is followed, up to the question it reaches after further steps", async () => {
    const ran: string[] = [];
    const followed = workflow(
      async (_: undefined, { step, interrupt }) => {
        const late = async () => {
          for (const name of ["one", "two"]) await step(name, () => pause(5).then(() => ran.push(name)));
          return interrupt<string>({ reason: "late?" });
        };
        const early = async () => interrupt<string>({ reason: "early?" });
        return Promise.all([early(), late()]);
      },
      { checkpointer: store().worker() },
    );
    const asked = await inTime(followed.invoke(undefined, { threadId: "t" }));
    expect(asked.interrupts?.map(({ reason }) => reason)).toEqual(["early?", "late?"]);
    expect([ran, asked.steps]).toEqual([["one", "two"], 2]);
    const byReason = Object.fromEntries(asked.interrupts!.map(({ id, reason }) => [id, `yes, ${reason}`]));
    expect(await inTime(last(followed.resumeInterrupts("t", byReason)))).toMatchObject({
      output: ["yes, early?", "yes, late?"],
    });
    expect(ran).toEqual(["one", "two"]);
  });

  test.each([
    ["the question comes first: the failing step is not recorded, and runs again", 0, "awaiting_input"],
    ["the failure comes first: the run has failed, and continue asks", 5, "failed"],
  ])("a question and a failure side by side: %s", async (_, questionAfter, status) => {
    let broken = true;
    const beside = workflow(
      async (_input: undefined, { step, interrupt }) => {
        const asking = async () => {
          if (questionAfter > 0) await step("wait", () => pause(questionAfter));
          return interrupt<string>({ reason: "well?" });
        };
        const failing = step("fail", async () => {
          await pause(2);
          if (broken) throw new Error("broken");
          return "mended";
        });
        return Promise.all([asking(), failing]);
      },
      { checkpointer: store().worker() },
    );
    await inTime(beside.invoke(undefined, { threadId: "t" }).catch(() => {}));
    expect((await beside.state("t"))?.status).toBe(status);
    broken = false;
    if (status === "failed") await inTime(listed(beside.continue("t")));
    expect((await inTime(beside.resumeWith("t", "fine"))).output).toEqual(["fine", "mended"]);
  });

  test("a question inside a step suspends the run, and the step runs again with the answer", async () => {
    const { types, onEvent } = listener();
    const ran: string[] = [];
    const inside = workflow(
      (_: undefined, { step, interrupt }) =>
        step(
          "asks",
          () => {
            ran.push("body");
            return `got ${interrupt<string>({ reason: "well?" })}`;
          },
          { retry: { maxAttempts: 3, initialIntervalMs: 1 }, onError: () => "recovered" },
        ),
      { checkpointer: store().worker() },
    );
    const asked = await inTime(inside.invoke(undefined, { threadId: "t", onEvent }));
    expect([asked.status, asked.steps, types()]).toEqual(["awaiting_input", 0, ["task_start", "checkpoint"]]);
    expect((await inTime(inside.resumeWith("t", "fine"))).output).toBe("got fine");
    expect(ran).toEqual(["body", "body"]);
  });

  test("a step that catches its own question is not recorded for that", async () => {
    const swallowing = workflow(
      (_: undefined, { step, interrupt }) =>
        step("asks", () => {
          try {
            return interrupt<string>({ reason: "well?" });
          } catch {
            return "never mind";
          }
        }),
      { checkpointer: store().worker() },
    );
    const asked = await swallowing.invoke(undefined, { threadId: "t" });
    expect([asked.status, asked.steps]).toEqual(["awaiting_input", 0]);
    expect((await swallowing.resumeWith("t", "fine")).output).toBe("fine");
  });

  test("a question inside onError suspends the run, and the step runs again with the answer", async () => {
    const { of, onEvent } = listener();
    let bodies = 0;
    const inside = workflow(
      (_: undefined, { step, interrupt }: WorkflowContext) =>
        step(
          "fails",
          (): string => {
            bodies += 1;
            throw new Error("broken");
          },
          { onError: () => interrupt<string>({ reason: "instead?" }) },
        ),
      { checkpointer: store().worker() },
    );
    const asked = await inside.invoke(undefined, { threadId: "t", onEvent });
    expect([asked.status, asked.steps]).toEqual(["awaiting_input", 0]);
    expect(of("task_failed")).toMatchObject([{ recovered: false, error: "broken" }]);
    expect((await inside.resumeWith("t", "this")).output).toBe("this");
    expect(bodies).toBe(2);
  });

  test("F9 two questions one after the other, and both answers at the end", async () => {
    const ran: string[] = [];
    const worker = () =>
      workflow(
        async (_: undefined, { step, interrupt }) => {
          const first = interrupt<string>({ reason: "first?" });
          await step("between", () => ran.push("between"));
          return [first, interrupt<string>({ reason: "second?" })];
        },
        { checkpointer: store().worker() },
      );
    await worker().invoke(undefined, { threadId: "t" });
    const second = await worker().resumeWith("t", "1");
    expect(second).toMatchObject({ status: "awaiting_input", interrupts: [{ reason: "second?", index: 1 }] });
    expect((await worker().resumeWith("t", "2")).output).toEqual(["1", "2"]);
    expect(ran).toEqual(["between"]);
  });

  test("19.4/19 a question beats an abort", async () => {
    const stop = new AbortController();
    const asking = workflow(
      async (_: undefined, { interrupt }) => {
        stop.abort(new Error("stopped"));
        return interrupt<string>({ reason: "well?" });
      },
      { checkpointer: store().worker() },
    );
    const asked = await asking.invoke(undefined, { threadId: "t", signal: stop.signal });
    expect(asked).toMatchObject({ status: "awaiting_input", interrupts: [{ reason: "well?" }] });
    expect((await asking.resumeWith("t", "fine")).output).toBe("fine");
  });

  test("continue on a waiting thread asks the same again, in another checkpoint", async () => {
    const seen: unknown[] = [];
    await one(seen).invoke(undefined, { threadId: "t" });
    expect(await last(one(seen).continue("t"))).toMatchObject({ status: "awaiting_input", step: 2 });
    expect((await one(seen).history("t")).map(({ step, status }) => [step, status])).toEqual([
      [2, "awaiting_input"],
      [1, "awaiting_input"],
    ]);
  });
});

test("19.4/25 without a checkpointer there are no questions: the call throws, and may be caught", async () => {
  const caught: unknown[] = [];
  const asking = workflow(
    async (swallow: boolean, { interrupt }) => {
      try {
        return interrupt<string>({ reason: "well?" });
      } catch (error) {
        caught.push(error);
        if (swallow) return "went on";
        throw error;
      }
    },
    { checkpointer: false },
  );
  expect((await asking.invoke(true)).output).toBe("went on");
  const failure = await failureOf(asking.invoke(false));
  expect(failure).toBe(caught[1]);
  expect(failure).toBeInstanceOf(GraphError);
  expect(failure).toMatchObject({ code: "WORKFLOW_NO_CHECKPOINTER" });
});
