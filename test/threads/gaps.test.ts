/**
 * G1 to G11: what is known to go wrong with this API elsewhere, and does not here. Answers that are lost or swapped, steps that start
 * when they must not, names that are taken for others, values that change afterwards, and steps that wait for each other for ever.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type GraphCheckpointer,
  RunControl,
  type WorkflowContext,
  workflow,
} from "../../src/threads/index.ts";
import { mortal } from "./mortal-worker.ts";
import { failureOf, last, listed, listener, stepsIn } from "./reading.ts";
import { onEach, STORES } from "./stores.ts";
import { aborted, inTime, pause, turns, withTimeAtRest } from "./time.ts";

withTimeAtRest();

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", note);
});
afterEach(async () => {
  await turns(3);
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

onEach(STORES, "gaps", (store) => {
  const run = (
    body: (context: WorkflowContext) => unknown,
    options: { maxConcurrency?: number; checkpointer?: GraphCheckpointer } = {},
  ) => workflow((_: undefined, context) => body(context), { checkpointer: store().worker(), ...options });

  test("G1 19.4/28 an answer outlives a worker that dies after the next step", async () => {
    const ran: string[] = [];
    const asking = (checkpointer: GraphCheckpointer) =>
      run(
        async ({ step, interrupt }) => {
          const answer = interrupt<string>({ reason: "well?" });
          await step("after", () => ran.push("after"));
          return `${answer}, ${await step("end", () => "the end")}`;
        },
        { checkpointer },
      );
    await asking(store().worker()).invoke(undefined, { threadId: "t" });
    const life = mortal({ operation: 1, when: "before" });
    listed(asking(store().worker(life.passage)).resume("t", "fine")).catch(() => {});
    await inTime(life.died);
    const survivor = asking(store().worker());
    expect(await survivor.state("t")).toMatchObject({
      status: "running",
      resolved: { "workflow:interrupt:0": "fine" },
    });
    expect(await last(survivor.continue("t"))).toMatchObject({ type: "done", output: "fine, the end" });
    expect(ran).toEqual(["after"]);
  });

  test("G2 after an abort no further step starts: the call rejects with the reason, and recorded steps answer", async () => {
    const reason = new Error("closing time");
    const ran: string[] = [];
    const late: unknown[] = [];
    let stop = new AbortController();
    const stopping = run(async ({ step }) => {
      await step("one", () => ran.push("one"));
      stop.abort(reason);
      late.push(await step("two", () => ran.push("two")).catch((error: unknown) => error));
    });
    await stopping.invoke(undefined, { threadId: "t", signal: stop.signal });
    stop = new AbortController();
    await listed(stopping.continue("t", { signal: stop.signal }));
    expect([ran, late]).toEqual([["one"], [reason, reason]]);
    expect((await stopping.state("t"))?.state.steps).toEqual({ one: { value: 1 } });
  });

  test("G2 an abort during the back-off is the end of the attempts", async () => {
    const stop = new AbortController();
    const attempts: number[] = [];
    const backing = run(({ step }) =>
      step(
        "fails",
        ({ attempt }) => {
          attempts.push(attempt);
          setTimeout(() => stop.abort(), 5);
          throw new Error("broken");
        },
        { retry: { maxAttempts: 3, initialIntervalMs: 60_000, jitter: false } },
      ),
    );
    const before = Date.now();
    const result = await inTime(backing.invoke(undefined, { threadId: "t", signal: stop.signal }));
    expect([result.status, attempts, Date.now() - before]).toEqual(["interrupted", [1], 5]);
  });

  test("G2 also where there is no back-off", async () => {
    const stop = new AbortController();
    const attempts: number[] = [];
    const hasty = run(({ step }) =>
      step(
        "fails",
        ({ attempt }) => {
          attempts.push(attempt);
          throw new Error("broken");
        },
        { retry: { maxAttempts: 3, initialIntervalMs: 0 } },
      ),
    );
    const onEvent = ({ type }: { readonly type: string }): void => {
      if (type === "task_retry") stop.abort();
    };
    const result = await hasty.invoke(undefined, { threadId: "t", signal: stop.signal, onEvent });
    expect([result.status, attempts]).toEqual(["interrupted", [1]]);
  });

  test("G2 an abort refuses the steps that wait for a slot", async () => {
    const stop = new AbortController();
    const ran: string[] = [];
    const queued = run(
      ({ step }) =>
        Promise.all(
          ["a", "b"].map((name) =>
            step(name, async ({ signal }) => {
              ran.push(name);
              setTimeout(() => stop.abort(), 1);
              await aborted(signal);
            }),
          ),
        ),
      { maxConcurrency: 1 },
    );
    const result = await inTime(queued.invoke(undefined, { threadId: "t", signal: stop.signal }));
    expect([result.status, ran]).toEqual(["interrupted", ["a"]]);
  });

  test("G3 a drain refuses a step within a step, which is neither tried again nor recovered", async () => {
    const { types, onEvent } = listener();
    const control = new RunControl();
    const ran: string[] = [];
    const nested = run(({ step }) =>
      step(
        "outer",
        () => {
          ran.push("outer");
          control.drain();
          return step("inner", () => ran.push("inner"));
        },
        { retry: { maxAttempts: 3, initialIntervalMs: 1 }, onError: () => -1 },
      ),
    );
    expect(
      await failureOf(inTime(nested.invoke(undefined, { threadId: "t", control, onEvent }))),
    ).toMatchObject({
      name: "GraphDrainedError",
      step: 1,
    });
    expect([ran, types()]).toEqual([["outer"], ["task_start", "checkpoint"]]);
    expect((await nested.state("t"))?.state.steps).toEqual({});
  });

  test("G3 a refused step that nobody awaits rejects nowhere", async () => {
    const control = new RunControl();
    const forgetful = run(async ({ step }) => {
      control.drain();
      void step("forgotten", () => 1);
      await turns(2);
      return "no further step is needed";
    });
    const result = await forgetful.invoke(undefined, { threadId: "t", control });
    expect([result.status, result.steps]).toEqual(["completed", 0]);
  });

  test("G4 another tenant does not learn that a thread exists, whatever its status", async () => {
    const owned = run(async ({ step }) => step("one", () => 1));
    await owned.invoke(undefined, { threadId: "t", tenantId: "acme" });
    for (const stream of [
      owned.resume("t", 1, { tenantId: "globex" }),
      owned.resumeInterrupts("t", {}, { tenantId: "globex" }),
      owned.continue("t", { tenantId: "globex" }),
    ]) {
      expect(await failureOf(listed(stream))).toMatchObject({
        name: "GraphThreadNotFoundError",
        threadId: "t",
      });
    }
  });

  test("G4 a thread keeps its tenant when it starts over without one", async () => {
    const owned = run(({ tenantId }) => tenantId);
    await owned.invoke(undefined, { threadId: "t", tenantId: "acme" });
    expect((await owned.invoke(undefined, { threadId: "t" })).output).toBe("acme");
    expect((await owned.state("t"))?.metadata?.tenantId).toBe("acme");
  });

  /** Two branches whose steps end in the other order than the code has them in. */
  const crossed = (question: (branch: string) => { reason: string; payload?: unknown }) =>
    run(async ({ step, interrupt }) => {
      const branch = async (name: string, ms: number) => {
        await step(name, () => pause(ms));
        return `${name}: ${interrupt<string>(question(name))}`;
      };
      return Promise.all([branch("slow", 20), branch("quick", 5)]);
    });

  test("G6 answers reach the branch that asked, whichever asked first", async () => {
    const asked = await inTime(
      crossed((name) => ({ reason: `${name}?` })).invoke(undefined, { threadId: "t" }),
    );
    expect(asked.interrupts?.map(({ reason }) => reason)).toEqual(["quick?", "slow?"]);
    const answers = Object.fromEntries(asked.interrupts!.map(({ id, reason }) => [id, `yes to ${reason}`]));
    expect(
      await inTime(last(crossed((name) => ({ reason: `${name}?` })).resumeInterrupts("t", answers))),
    ).toMatchObject({ output: ["slow: yes to slow?", "quick: yes to quick?"] });
  });

  test("G6 also when they are answered one by one", async () => {
    const worker = () => crossed((name) => ({ reason: `${name}?` }));
    await inTime(worker().invoke(undefined, { threadId: "t" }));
    const half = await inTime(worker().resumeWith("t", "yes to quick?"));
    expect(half.interrupts?.map(({ reason }) => reason)).toEqual(["slow?"]);
    expect((await inTime(worker().resumeWith("t", "yes to slow?"))).output).toEqual([
      "slow: yes to slow?",
      "quick: yes to quick?",
    ]);
  });

  test("G6 branches that ask the same words at the same time tell their questions apart by a key", async () => {
    const worker = () =>
      run(async ({ step, interrupt }) => {
        const branch = async (key: string, ms: number) => {
          await step(key, () => pause(ms));
          return `${key}: ${interrupt<string>({ reason: "approve?", key })}`;
        };
        return Promise.all([branch("slow", 20), branch("quick", 5)]);
      });
    const asked = await inTime(worker().invoke(undefined, { threadId: "t" }));
    expect(asked.interrupts?.map(({ id, key }) => [id, key])).toEqual([
      ["workflow:interrupt:quick", "quick"],
      ["workflow:interrupt:slow", "slow"],
    ]);
    const answers = { "workflow:interrupt:quick": "Q", "workflow:interrupt:slow": "S" };
    expect(await inTime(last(worker().resumeInterrupts("t", answers)))).toMatchObject({
      output: ["slow: S", "quick: Q"],
    });
  });

  test("G6 and by what they ask about, where the words are the same and the payload is not", async () => {
    const worker = () => crossed((branch) => ({ reason: "approve?", payload: { of: branch } }));
    const asked = await inTime(worker().invoke(undefined, { threadId: "t" }));
    const payloads = asked.interrupts?.map(
      ({ id, payload }) => [id, (payload as { of: string }).of] as const,
    );
    const answers = Object.fromEntries((payloads ?? []).map(([id, of]) => [id, `for ${of}`]));
    expect(await inTime(last(worker().resumeInterrupts("t", answers)))).toMatchObject({
      output: ["slow: for slow", "quick: for quick"],
    });
  });

  test("G7 19.4/29 a step may have the name of anything that objects have", async () => {
    const names = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"];
    const ran: string[] = [];
    const inherited = run(async ({ step }) => {
      const answers: unknown[] = [];
      for (const name of names) {
        answers.push(
          await step(name, () => {
            ran.push(name);
            return `${name}!`;
          }),
        );
      }
      return answers;
    });
    const output = names.map((name) => `${name}!`);
    expect((await inherited.invoke(undefined, { threadId: "t" })).output).toEqual(output);
    expect(await last(inherited.continue("t"))).toMatchObject({ output });
    expect(ran).toEqual(names);
    const { steps } = (await inherited.state("t"))!.state;
    expect(names.map((name) => Object.getOwnPropertyDescriptor(steps, name)?.value)).toEqual(
      output.map((value) => ({ value })),
    );
  });

  test("G9 what a step answers is a copy, the first time and from the record", async () => {
    const original = { list: [1] };
    const given = { list: ["in"] };
    const answers: unknown[] = [];
    const mutating = workflow(
      async (input: { list: string[] }, { step }) => {
        input.list.push("changed");
        const answer = await step("one", () => original);
        answers.push(answer);
        answer.list.push(2);
        await step("two", () => 2);
        return "done";
      },
      { checkpointer: store().worker() },
    );
    await mutating.invoke(given, { threadId: "t" });
    await listed(mutating.continue("t"));
    expect([original, given]).toEqual([{ list: [1] }, { list: ["in"] }]);
    expect(answers[0]).not.toBe(original);
    expect(answers[0]).not.toBe(answers[1]);
    expect(answers).toEqual([{ list: [1, 2] }, { list: [1, 2] }]);
    for (const checkpoint of await mutating.history("t")) {
      expect([checkpoint.state.input, stepsIn(checkpoint).one]).toEqual([
        { list: ["in"] },
        { value: { list: [1] } },
      ]);
    }
  });

  test("G10 19.4/30 a step within a step does not wait for the slot that its own step holds", async () => {
    const nested = run(
      ({ step }) =>
        step("outer", async () => {
          const inner = await step("inner", () => step("innermost", () => "deep"));
          return `outer of ${inner}`;
        }),
      { maxConcurrency: 1 },
    );
    const result = await inTime(nested.invoke(undefined, { threadId: "t" }), "a step within a step");
    expect([result.output, Object.keys(result.state.steps)]).toEqual([
      "outer of deep",
      ["innermost", "inner", "outer"],
    ]);
  });

  test("G11 never more steps at once than there are slots, also when one starts as another ends", async () => {
    let running = 0;
    let most = 0;
    const body = async (microtasks: number) => {
      running += 1;
      most = Math.max(most, running);
      for (let turn = 0; turn < microtasks; turn += 1) await null;
      running -= 1;
    };
    const crowded = run(
      async ({ step }) => {
        const rest: Promise<unknown>[] = [];
        for (let round = 0; round < 24; round += 1) {
          rest.push(
            step(`long-${round}`, () => body(12)),
            step(`queued-${round}`, () => body(3)),
          );
          for (let turn = 0; turn < round; turn += 1) await null;
          rest.push(step(`late-${round}`, () => body(3)));
        }
        await Promise.all(rest);
      },
      { maxConcurrency: 1 },
    );
    expect((await inTime(crowded.invoke(undefined, { threadId: "t" }))).steps).toBe(72);
    expect([most, running]).toEqual([1, 0]);
  });
});
