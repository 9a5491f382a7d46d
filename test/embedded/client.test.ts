/** The client's promises about starting, finding and steering runs, on both stores. */
import { describe, expect, test } from "vitest";
import { RejectionError } from "../../src/engine/rejection-error.ts";
import { workflow } from "../../src/engine/workflow.ts";
import { PayloadError } from "../../src/events/payload.ts";
import { StoreError } from "../../src/events/store-error.ts";
import {
  clientsOn,
  echo,
  failing,
  parked,
  refusal,
  sleeping,
  strict,
  waiting,
  workflows,
} from "./client-kit.ts";
import { collect, delegate, embedded, recorder, STORES, until } from "./kit.ts";

const kit = embedded();

describe.each(STORES)("the client on %s", (store) => {
  const { open, working } = clientsOn(kit, store);

  describe("start", () => {
    test("records the run and answers its id; nothing is run by it", async () => {
      const rs = open({ clock: () => 1_767_225_600_000 });
      const runId = await rs.start(echo, { a: 1 }, { key: "k", tenant: "t", metadata: { by: "test" } });
      expect(runId).toMatch(/^wrun_[0-9a-f]{32}$/);
      expect(await rs.get(runId)).toEqual({
        runId,
        workflow: "echo",
        createdAt: 1_767_225_600_000,
        key: "k",
        status: "pending",
      });
      const [created] = await collect(rs.history(runId));
      expect(created?.event.data).toMatchObject({ key: "k", tenant: "t", metadata: { by: "test" } });
    });

    test("takes a declared name or its definition; the first name wins where one is declared twice", async () => {
      const rs = open();
      expect(await rs.get(await rs.start("again"))).toMatchObject({ workflow: "again" });
      expect(await rs.get(await rs.start(echo))).toMatchObject({ workflow: "echo" });
    });

    test("refuses an unknown name or definition, and lists what is declared", async () => {
      const rs = open();
      const error = await refusal(rs.start("nope"));
      expect(error.reason).toBe("UnknownWorkflow");
      expect(error.message).toBe(
        'Workflow "nope" is not declared here. Declared: echo, waiting, sleeping, failing, strict, again.',
      );
      expect((await refusal(rs.start(workflow({ run: async () => {} })))).reason).toBe("UnknownWorkflow");
      expect((await refusal(rs.start("__proto__"))).reason).toBe("UnknownWorkflow");
      const none = kit.open({ store: kit.log(store) });
      expect((await refusal(none.start("echo"))).message).toContain("Declared: (none)");
      expect((await none.list()).runs).toEqual([]);
    });

    test("refuses what the schema does not accept, naming the workflow; stores what the schema makes of the rest", async () => {
      const rs = working();
      const error = await refusal(rs.start(strict, { size: "big" }));
      expect([error.reason, error.message]).toEqual([
        "InvalidInput",
        expect.stringContaining('Workflow "strict"'),
      ]);
      expect(error.message).toContain("size");
      expect(await rs.result(await rs.start(strict, { size: "12" }))).toMatchObject({ output: 12 });
      expect((await rs.list()).runs).toHaveLength(1);
    });

    test.each([
      ["an array", [1]],
      ["null", null],
      ["a string", "text"],
      ["a number", 7],
      ["a Date", new Date(0)],
      ["a Map", new Map()],
    ])("refuses %s as an input at the call, not in a worker", async (_what, input) => {
      const rs = open();
      const error = await refusal(rs.start(echo, input as never));
      expect([error.reason, error.message]).toEqual([
        "InvalidInput",
        expect.stringContaining('Workflow "echo"'),
      ]);
      expect((await rs.list()).runs).toEqual([]);
    });

    test("refuses what the codec cannot carry, with the path", async () => {
      const rs = open();
      const error = await rs
        .start(echo, { items: [1, { when: () => 1 }] })
        .catch((caught: unknown) => caught);
      expect(PayloadError.is(error) && error.path).toBe("input.items[1].when");
      expect((await rs.list()).runs).toEqual([]);
    });

    test("refuses attributes that no reader could read back", async () => {
      const rs = open();
      const attempts = [
        { key: 7 },
        { tenant: {} },
        { metadata: [1] },
        { metadata: { at: new Date(0) } },
        { runId: 7 },
      ];
      for (const options of attempts)
        expect((await refusal(rs.start(echo, {}, options as never))).reason).toBe("InvalidInput");
      const cyclic: Record<string, unknown> = {};
      cyclic.self = cyclic;
      const error = await rs
        .start(echo, {}, { metadata: cyclic as never })
        .catch((caught: unknown) => caught);
      expect(PayloadError.is(error)).toBe(true);
      expect((await rs.list()).runs).toEqual([]);
    });

    test("records no attribute it does not know", async () => {
      const rs = open();
      const runId = await rs.start(echo, {}, { key: "k", surprise: true } as never);
      const [created] = await collect(rs.history(runId));
      expect(Object.keys(created?.event.data ?? {})).not.toContain("surprise");
    });

    test("of starts under one id exactly one is accepted, and its input stands", async () => {
      const rs = working();
      const starts = await Promise.allSettled([1, 2, 3].map((n) => rs.start(echo, { n }, { runId: "mine" })));
      const refused = starts.filter(({ status }) => status === "rejected") as PromiseRejectedResult[];
      expect(refused).toHaveLength(2);
      for (const { reason } of refused) expect(RejectionError.is(reason, "RunExists")).toBe(true);
      const won = starts.findIndex(({ status }) => status === "fulfilled") + 1;
      expect(await rs.result("mine")).toMatchObject({ output: { n: won } });
      await expect(rs.start(echo, {}, { runId: "mine" })).rejects.toSatisfy((error) =>
        RejectionError.is(error),
      );
    });

    test.each([
      ["was written, and nobody said so", true],
      ["was not written, and nobody said so", false],
    ])("an append that %s starts the run once", async (_what, written) => {
      const log = kit.log(store);
      let failures = 0;
      const unsure = {
        ...delegate(log),
        append:
          (...args: Parameters<typeof log.append>) =>
          async () => {
            if (!args[0].startsWith("run-") || failures === 1) return log.append(...args)();
            failures += 1;
            if (written) await log.append(...args)();
            return {
              _tag: "Left" as const,
              left: { _tag: "UnknownOutcome" as const, reason: "the line went dead" },
            };
          },
      };
      const rs = kit.open({ store: unsure, workflows });
      const runId = await rs.start(echo, { a: 1 });
      expect(failures).toBe(1);
      expect((await collect(rs.history(runId))).map(({ event }) => event.type)).toEqual(["RunCreated"]);
      rs.work();
      expect(await rs.result(runId)).toMatchObject({ output: { a: 1 } });
    });

    test("a store that never says what it did is an error that names the run", async () => {
      const log = kit.log(store);
      const dark = {
        ...delegate(log),
        append: () => async () =>
          ({ _tag: "Left", left: { _tag: "UnknownOutcome", reason: "the line is dead" } }) as const,
      };
      const rs = kit.open({ store: dark, workflows });
      const error = await rs.start(echo, {}, { runId: "mine" }).catch((caught: unknown) => caught);
      expect(StoreError.is(error) && [error.error._tag, error.message]).toEqual([
        "UnknownOutcome",
        expect.stringContaining('"mine"'),
      ]);
      expect(await rs.get("mine")).toBeUndefined();
    });
  });

  describe("find, recent, get and list", () => {
    test("recent answers newest first, and find those of a key; both carry the key", async () => {
      let now = 1_000;
      const rs = open({ clock: () => now++ });
      const ids: string[] = [];
      for (let n = 0; n < 6; n += 1)
        ids.push(await rs.start(echo, { n }, { key: n % 2 === 0 ? "even" : "odd" }));
      await rs.start(failing, {}, { key: "even" });
      const recent = await rs.recent(echo);
      expect(recent.map(({ runId }) => runId)).toEqual([...ids].reverse());
      expect((await rs.find(echo, "even")).map(({ runId, key }) => [runId, key])).toEqual([
        [ids[4], "even"],
        [ids[2], "even"],
        [ids[0], "even"],
      ]);
      expect(await rs.find("again", "even")).toEqual([]);
    });

    test("limit is 20 by default, floored, and held between 1 and 100", async () => {
      const rs = open();
      await Promise.all(Array.from({ length: 120 }, () => rs.start(echo, {}, { key: "k" })));
      const sizes = async (limit: number | undefined): Promise<number[]> => {
        const options = limit === undefined ? {} : { limit };
        return [(await rs.recent(echo, options)).length, (await rs.find(echo, "k", options)).length];
      };
      expect(await sizes(undefined)).toEqual([20, 20]);
      expect(await sizes(Number.NaN)).toEqual([20, 20]);
      expect(await sizes(2.9)).toEqual([2, 2]);
      expect(await sizes(0)).toEqual([1, 1]);
      expect(await sizes(-5)).toEqual([1, 1]);
      expect(await sizes(1_000)).toEqual([100, 100]);
      expect(await sizes(Number.POSITIVE_INFINITY)).toEqual([100, 100]);
    });

    test("a completed run carries its output, a failed one its error, any other neither", async () => {
      const rs = working();
      const done = await rs.start(echo, { when: new Date(5) });
      const broken = await rs.start(failing);
      const parkedRun = await rs.start(waiting);
      await rs.result(done);
      await rs.result(broken);
      await parked(rs, parkedRun, "HookOpened");
      expect(await rs.get(done)).toMatchObject({ status: "completed", output: { when: new Date(5) } });
      expect(await rs.get(broken)).toMatchObject({ status: "failed", error: "it broke" });
      expect(Object.keys((await rs.get(parkedRun)) ?? {})).toEqual([
        "runId",
        "workflow",
        "createdAt",
        "status",
      ]);
      expect(await rs.get("nobody")).toBeUndefined();
    });

    test("a run that cannot be read is left out of find and recent, and said; get says why", async () => {
      const log = kit.log(store);
      const logger = recorder();
      const rs = kit.open({ store: log, workflows, logger });
      const good = await rs.start(echo, {}, { key: "k" });
      const bad = await rs.start(echo, {}, { key: "k", runId: "bad" });
      const newer = { id: crypto.randomUUID(), type: "RunTeleported", data: {}, metadata: { v: 1 } };
      await log.append("run-bad", 0, [newer])();
      expect((await rs.recent(echo)).map(({ runId }) => runId)).toEqual([good]);
      expect((await rs.find(echo, "k")).map(({ runId }) => runId)).toEqual([good]);
      expect(logger.said("cannot be read").map(({ fields }) => fields.runId)).toEqual([bad, bad]);
      await expect(rs.get(bad)).rejects.toThrow("RunTeleported");
    });

    test.each([
      "",
      "a/b",
      "__proto__",
      "NUL \0 inside",
      "%0041",
      "\ud800 lone",
      "é-日本-🎉",
      "x".repeat(2_000),
    ])("run ids, keys and tokens may be any text: %j", async (text) => {
      const token = workflow({ run: async (_input, ctx) => ctx.waitFor(text) });
      const rs = kit.open({ store: kit.log(store), workflows: { token, [text || "empty"]: echo } });
      rs.work();
      const runId = await rs.start(token, {}, { runId: text, key: text });
      expect(runId).toBe(text);
      await parked(rs, runId, "HookOpened");
      expect((await rs.find(token, text)).map((run) => [run.runId, run.key])).toEqual([[text, text]]);
      expect(await rs.signal(text, { text })).toBe(true);
      expect(await rs.result(text)).toMatchObject({ runId: text, key: text, output: { text } });
    });

    test("listing answers what is declared", () => {
      expect(open().listing()).toEqual([
        { name: "echo", description: "Answers its input." },
        ...["waiting", "sleeping", "failing", "strict"].map((name) => ({ name })),
        { name: "again", description: "Answers its input." },
      ]);
    });
  });

  describe("cancel, wakeUp and signal", () => {
    test("of many cancels one ended the run; a run that is over or unknown is ended by none", async () => {
      const rs = working();
      const runId = await rs.start(waiting);
      const answers = await Promise.all([1, 2, 3, 4].map(() => rs.cancel(runId, { reason: "enough" })));
      expect(answers.filter(Boolean)).toHaveLength(1);
      expect(await rs.cancel(runId)).toBe(false);
      expect(await rs.cancel("nobody")).toBe(false);
      const done = await rs.start(echo);
      await rs.result(done);
      expect(await rs.cancel(done)).toBe(false);
      expect(await rs.result(runId)).toMatchObject({ status: "cancelled" });
      const last = (await collect(rs.history(runId))).at(-1);
      expect(last?.event).toMatchObject({ type: "RunCancelled", data: { reason: "enough" } });
      expect((await refusal(rs.cancel(runId, { reason: 7 as never }))).reason).toBe("InvalidInput");
    });

    test("wakeUp wakes by correlation id, or every sleep; an empty list is none given", async () => {
      const rs = working();
      const runId = await rs.start(sleeping);
      await until("both sleeps", async () => (await rs.index.waits(runId)).length === 2);
      expect(await rs.wakeUp(runId, { correlationIds: ["nope"] })).toBe(0);
      expect(await rs.wakeUp(runId, { correlationIds: ["one"] })).toBe(1);
      expect(await rs.wakeUp(runId, { correlationIds: [] })).toBe(1);
      expect(await rs.wakeUp(runId)).toBe(0);
      expect(await rs.wakeUp("nobody")).toBe(0);
      expect(await rs.result(runId)).toMatchObject({ status: "completed" });
    });

    test("signal answers the wait, with {} where no payload is given; nobody waits twice", async () => {
      const rs = working();
      const runs = await Promise.all([rs.start(waiting), rs.start(waiting), rs.start(waiting)]);
      for (const runId of runs) await parked(rs, runId, "HookOpened");
      expect(await rs.signal(`token-${runs[0]}`)).toBe(true);
      expect(await rs.signal(`token-${runs[1]}`, null)).toBe(true);
      expect(await rs.signal(`token-${runs[2]}`, 0)).toBe(true);
      expect(await rs.signal(`token-${runs[0]}`)).toBe(false);
      expect(await rs.signal("nobody")).toBe(false);
      const outcomes = await Promise.all(runs.map((runId) => rs.result(runId)));
      expect(outcomes.map((outcome) => outcome.status === "completed" && outcome.output)).toEqual([
        { answer: {} },
        { answer: {} },
        { answer: 0 },
      ]);
      const error = await rs.signal("nobody", { bad: Symbol("x") }).catch((caught: unknown) => caught);
      expect(PayloadError.is(error) && error.path).toBe("payload.bad");
    });

    test("ids and tokens that are no text are refused at the call", async () => {
      const rs = open();
      const calls = [rs.get, rs.cancel, rs.wakeUp, rs.signal, rs.result] as ((
        id: never,
      ) => Promise<unknown>)[];
      for (const call of calls)
        for (const odd of [undefined, null, 7, {}, []])
          expect((await refusal(call(odd as never))).reason).toBe("InvalidInput");
    });
  });
});
