/** The client's promises about results and about its end, on both stores. */
import { concatMap, of, Subject, tap } from "rxjs";
import { describe, expect, test } from "vitest";
import { RejectionError } from "../../src/engine/rejection-error.ts";
import { clientsOn, echo, parked, refusal, waiting, workflows } from "./client-kit.ts";
import { collect, delegate, embedded, STORES } from "./kit.ts";

const kit = embedded();

describe.each(STORES)("the client on %s", (store) => {
  const { open, working } = clientsOn(kit, store);

  describe("result", () => {
    test("answers a run that ended before, that ends meanwhile, and that another Runstream ends", async () => {
      const log = kit.log(store);
      const worker = kit.open({ store: log, workflows });
      worker.work();
      const rs = kit.open({ store: log, workflows });
      const runId = await rs.start(echo, { a: 1 });
      expect(await rs.result(runId)).toMatchObject({ status: "completed", output: { a: 1 } });
      expect(await rs.result(runId)).toMatchObject({ output: { a: 1 } });
      const cancelled = await rs.start(waiting);
      const outcome = rs.result(cancelled);
      await parked(rs, cancelled, "HookOpened");
      await worker.cancel(cancelled);
      expect(await outcome).toMatchObject({ status: "cancelled" });
    });

    test("many may wait, for one run and for many", async () => {
      const rs = working();
      const runIds = await Promise.all(Array.from({ length: 30 }, (_, n) => rs.start(echo, { n })));
      const outcomes = await Promise.all(
        runIds.flatMap((runId) => Array.from({ length: 20 }, () => rs.result(runId))),
      );
      expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["completed"]));
      expect(outcomes).toHaveLength(600);
    });

    test("of a run that this client saw not to be over, while it watched, needs no look at its stream", async () => {
      const log = kit.log(store);
      let reads = 0;
      const counted = {
        ...delegate(log),
        read: (...args: Parameters<typeof log.read>) => {
          reads += 1;
          return log.read(...args);
        },
      };
      const rs = kit.open({ store: counted, workflows });
      rs.work();
      await rs.result(await rs.start(echo));
      reads = 0;
      for (let n = 0; n < 5; n += 1)
        expect(await rs.result(await rs.start(echo, { n }))).toMatchObject({ output: { n } });
      expect(reads).toBe(0);
    });

    test("is found whenever another Runstream ends the run: before it is asked for, while, and after", async () => {
      const log = kit.log(store);
      const [rs, other] = [kit.open({ store: log, workflows }), kit.open({ store: log, workflows })];
      const first = await rs.start(waiting);
      await other.cancel(first);
      await rs.result(first);
      for (let turns = 0; turns < 60; turns += 1) {
        const runId = await rs.start(waiting);
        const ended = other.cancel(runId);
        if (turns >= 50) await ended;
        for (let turn = 0; turn < turns % 20; turn += 1)
          await new Promise((resolve) =>
            turns % 2 === 0 ? process.nextTick(resolve) : setImmediate(resolve),
          );
        expect(await rs.result(runId, { timeoutMs: 5_000 })).toMatchObject({ status: "cancelled" });
      }
    });

    test("is found where the end was told while the answer to what came before it was still on its way", async () => {
      const log = kit.log(store);
      const other = kit.open({ store: log, workflows });
      let ended: () => void = () => {};
      let meanwhile: (runId: string) => Promise<unknown> = async () => {};
      const slow = {
        ...delegate(log),
        append: (...args: Parameters<typeof log.append>) => {
          const append = log.append(...args);
          return async () => {
            const answer = await append();
            await meanwhile(args[0].slice("run-".length));
            return answer;
          };
        },
        subscribe: (...args: Parameters<typeof log.subscribe>) =>
          log.subscribe(...args).pipe(tap((item) => "type" in item && queueMicrotask(ended))),
      };
      const rs = kit.open({ store: slow, workflows });
      const first = await rs.start(waiting);
      await other.cancel(first);
      await rs.result(first);
      meanwhile = async (runId) => {
        const heard = new Promise<void>((resolve) => {
          ended = resolve;
        });
        await other.cancel(runId);
        await heard;
      };
      const runId = await rs.start(waiting);
      expect(await rs.result(runId)).toMatchObject({ status: "cancelled" });
    });

    test("of a run whose end was not told yet is looked for before its timeout, and with 0", async () => {
      const log = kit.log(store);
      const other = kit.open({ store: log, workflows });
      const silent = new Subject<never>();
      let late = false;
      const deaf = {
        ...delegate(log),
        subscribe: (...args: Parameters<typeof log.subscribe>) =>
          log.subscribe(...args).pipe(concatMap((item) => (late ? silent : of(item)))),
      };
      const rs = kit.open({ store: deaf, workflows });
      const first = await rs.start(waiting);
      await other.cancel(first);
      await rs.result(first);
      late = true;
      for (const timeoutMs of [0, 15]) {
        const runId = await rs.start(waiting);
        await other.cancel(runId);
        expect(await rs.result(runId, { timeoutMs })).toMatchObject({ status: "cancelled" });
      }
    });

    test("refuses an unknown run", async () => {
      const error = await open()
        .result("nobody")
        .catch((caught: unknown) => caught);
      expect(RejectionError.is(error, "RunMissing")).toBe(true);
    });

    test("gives up after its timeout and says how the run stood; one that is over is answered even with 0", async () => {
      const rs = open();
      const runId = await rs.start(echo);
      for (const timeoutMs of [0, -1, 15]) {
        const error = await refusal(rs.result(runId, { timeoutMs }));
        expect([error.reason, error.message]).toEqual(["Timeout", expect.stringContaining("pending")]);
      }
      expect((await refusal(rs.result(runId, { timeoutMs: Number.NaN }))).reason).toBe("InvalidInput");
      await rs.cancel(runId);
      expect(await rs.result(runId, { timeoutMs: 0 })).toMatchObject({ status: "cancelled" });
    });

    test.each([Number.POSITIVE_INFINITY, 2 ** 31, 1e15])(
      "a timeout of %d ms does not end at once",
      async (timeoutMs) => {
        const rs = open();
        const runId = await rs.start(echo);
        const outcome = rs.result(runId, { timeoutMs });
        await new Promise((resolve) => setTimeout(resolve, 30));
        await rs.cancel(runId);
        expect(await outcome).toMatchObject({ status: "cancelled" });
      },
    );

    test("whoever waits while it is stopped is told, and told which run", async () => {
      const rs = open();
      const runIds = [await rs.start(echo), await rs.start(echo)];
      const waits = runIds.map((runId) => refusal(rs.result(runId)));
      await new Promise((resolve) => setTimeout(resolve, 10));
      await rs.stop();
      for (const [n, wait] of waits.entries()) {
        const error = await wait;
        expect([error.reason, error.message]).toEqual(["Stopped", expect.stringContaining(runIds[n]!)]);
      }
    });

    test("whoever waits while the log is closed is told", async () => {
      const log = kit.log(store);
      const rs = kit.open({ store: log, workflows });
      const runId = await rs.start(echo);
      const wait = refusal(rs.result(runId));
      await new Promise((resolve) => setTimeout(resolve, 10));
      await log.close();
      expect((await wait).message).toContain(runId);
      await expect(rs.result(runId)).rejects.toThrow();
    });
  });

  test("a result asked for just before the stop is refused as stopped, not as trouble of the store", async () => {
    const rs = kit.open({ store: store === "memory" ? ":memory:" : kit.path(), workflows });
    const runId = await rs.start(waiting);
    await refusal(rs.result(runId, { timeoutMs: 0 }));
    const refused = refusal(rs.result(runId));
    await rs.stop();
    expect((await refused).reason).toBe("Stopped");
  });

  test("once stopped, every method says so", async () => {
    const rs = working();
    const runId = await rs.start(echo);
    await rs.result(runId);
    await rs.stop();
    await rs.stop();
    const calls: (() => Promise<unknown>)[] = [
      () => rs.start(echo),
      () => rs.get(runId),
      () => rs.find(echo, "k"),
      () => rs.recent(echo),
      () => rs.list(),
      () => rs.cancel(runId),
      () => rs.wakeUp(runId),
      () => rs.signal("token"),
      () => rs.result(runId),
      () => rs.stateAt(runId, 0),
      () => collect(rs.history(runId)),
      async () => rs.work(),
    ];
    for (const call of calls) expect((await refusal(call())).reason).toBe("Stopped");
    expect(rs.walking).toBe(0);
  });
});
