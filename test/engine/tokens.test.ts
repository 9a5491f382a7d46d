import { beforeEach, describe, expect, test } from "vitest";
import type { LogJournal } from "../../src/engine/journal/create-journal.ts";
import { JournalConflictError } from "../../src/engine/journal-conflict-error.ts";
import { createFaultLog, type FaultLog, once, UNAVAILABLE } from "./fault-log.ts";
import { workerOn } from "./log-order-replay.ts";

let log: FaultLog;
let journal: LogJournal;

const create = (runId: string, on: LogJournal = journal) =>
  on.createRun({ runId, workflow: "job", status: "running", createdAt: 1, input: {} });
const worker = (): LogJournal => workerOn(log, () => 1_000);

beforeEach(() => {
  log = createFaultLog();
  journal = worker();
});

describe("a token", () => {
  test("is reserved before its hook is opened", async () => {
    await create("r1");
    await journal.claimHook("r1", "hook!t#0", "t");
    expect(log.appends.map(({ stream, types }) => [stream, ...types])).toEqual([
      ["run-r1", "RunCreated", "RunStarted"],
      ["hook-t", "TokenReserved"],
      ["run-r1", "HookOpened"],
    ]);
  });

  test("five runs on five workers race for one: one gets it, four are told who holds it", async () => {
    const runs = ["r1", "r2", "r3", "r4", "r5"];
    const workers = runs.map(worker);
    await Promise.all(runs.map((runId, n) => create(runId, workers[n])));
    const claims = await Promise.allSettled(
      runs.map((runId, n) => (workers[n] as LogJournal).claimHook(runId, "hook!t#0", "t")),
    );
    const lost = claims.flatMap((claim) => (claim.status === "rejected" ? [claim.reason] : []));
    expect(lost).toHaveLength(4);
    const holder = runs[claims.findIndex(({ status }) => status === "fulfilled")];
    for (const error of lost) {
      expect(JournalConflictError.is(error)).toBe(true);
      expect(error.message).toContain(`already held by run "${holder}"`);
    }
    expect(await journal.deliverHook("t", 1)).toBe(holder);
  });

  test("a crash between reserving it and opening its hook heals when the wait is reached again", async () => {
    await create("r1");
    log.fault = once("HookOpened", { refuse: UNAVAILABLE });
    await expect(journal.claimHook("r1", "hook!t#0", "t")).rejects.toMatchObject({ name: "StoreError" });
    expect(await worker().deliverHook("t", 1)).toBe(undefined);
    await create("r2");
    await expect(worker().claimHook("r2", "hook!t#0", "t")).rejects.toSatisfy(JournalConflictError.is);
    expect(await worker().claimHook("r1", "hook!t#0", "t")).toEqual({
      token: "t",
      delivered: false,
      closed: false,
    });
    expect(await worker().deliverHook("t", 1)).toBe("r1");
  });

  test.each(["completed", "failed", "cancelled"] as const)(
    "is free again when its run is %s, without anybody releasing it",
    async (end) => {
      await create("r1");
      await create("r2");
      await journal.claimHook("r1", "hook!t#0", "t");
      await worker().setStatus("r1", end);
      expect(await journal.deliverHook("t", 1)).toBe(undefined);
      expect(await journal.claimHook("r2", "hook!t#0", "t")).toMatchObject({ delivered: false });
      expect(await worker().deliverHook("t", 2)).toBe("r2");
    },
  );

  test("is held by one wait of a run: another key of the same run is refused", async () => {
    await create("r1");
    await journal.claimHook("r1", "hook!t#0", "t");
    await expect(journal.claimHook("r1", "hook!t#1", "t")).rejects.toSatisfy(JournalConflictError.is);
  });

  test.each(["written", "lost"] as const)(
    "is reserved once when the store does not say (%s)",
    async (unknown) => {
      await create("r1");
      log.fault = once("TokenReserved", { unknown });
      expect(await journal.claimHook("r1", "hook!t#0", "t")).toMatchObject({ token: "t" });
      expect(await worker().deliverHook("t", 1)).toBe("r1");
    },
  );

  test.each(["", "a/b", "__proto__", "with space", "\u0000", "\ud800", "ü".repeat(2_000)])(
    "may be any text (case %#)",
    async (token) => {
      await create("r1");
      await journal.claimHook("r1", "k", token);
      expect(await worker().deliverHook(token, 1)).toBe("r1");
      expect(await journal.claimHook("r1", "k", token)).toMatchObject({ token, delivered: true });
    },
  );

  test("one signal of many at once is accepted, on whichever worker it comes", async () => {
    await create("r1");
    await journal.claimHook("r1", "hook!t#0", "t");
    const said = await Promise.all(Array.from({ length: 8 }, (_, n) => worker().deliverHook("t", n)));
    expect(said.filter((runId) => runId !== undefined)).toEqual(["r1"]);
    const hook = await journal.claimHook("r1", "hook!t#0", "t");
    expect(hook.payload).toBe(said.indexOf("r1"));
  });
});
