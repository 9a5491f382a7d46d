/** The run index's answers about runs: listing, counting, runs that cannot be read; and how it catches up. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { EventLog } from "../../src/events/event-log.ts";
import { StoreError } from "../../src/events/store-error.ts";
import { InvalidCursorError } from "../../src/projections/invalid-cursor-error.ts";
import { openRunIndex, type RunIndexOptions } from "../../src/projections/run-index.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { asleep, cancelled, completed, created, failed, ofNewerVersion, put, started } from "./scene.ts";

const NOW = 50_000;

const scene = (options: RunIndexOptions = {}) => {
  const log = createMemoryLog();
  const index = openRunIndex(log, { clock: () => NOW, ...options });
  onTestFinished(() => index.close());
  return { log, index };
};

const ids = (page: { runs: readonly { runId: string }[] }): string[] => page.runs.map(({ runId }) => runId);

describe("list", () => {
  const seeded = async () => {
    const { log, index } = scene();
    await put(log, "a", created("orders", 1_000, { key: "k1", tenant: "t", codeVersion: "v1" }));
    await put(log, "b", created("orders", 2_000, { key: "k2" }), started(2_100));
    await put(log, "c", created("mail", 3_000, { key: "k1" }), started(3_100), completed(3_500));
    await put(log, "d", created("orders", 4_000), started(4_100), failed("boom", 4_500));
    await put(log, "e", created("orders", 5_000), cancelled(5_500));
    return { log, index };
  };

  it("answers an empty page for an empty log", async () => {
    expect(await scene().index.list()).toEqual({ runs: [] });
  });

  it("answers every run newest first, with what its events say and nothing else", async () => {
    const { index } = await seeded();
    const page = await index.list();
    expect(ids(page)).toEqual(["e", "d", "c", "b", "a"]);
    expect(page.cursor).toBeUndefined();
    expect(page.runs[4]).toEqual({
      runId: "a",
      kind: "run",
      workflow: "orders",
      status: "pending",
      createdAt: 1_000,
      key: "k1",
      tenant: "t",
      codeVersion: "v1",
      revision: 0,
      position: expect.any(String),
    });
    expect(page.runs[2]).toEqual({
      runId: "c",
      kind: "run",
      workflow: "mail",
      status: "completed",
      createdAt: 3_000,
      endedAt: 3_500,
      key: "k1",
      revision: 2,
      position: expect.any(String),
    });
  });

  it("filters by workflow, status, key and time, together as well", async () => {
    const { index } = await seeded();
    expect(ids(await index.list({ workflow: "orders" }))).toEqual(["e", "d", "b", "a"]);
    expect(ids(await index.list({ workflow: "nobody" }))).toEqual([]);
    expect(ids(await index.list({ status: "running" }))).toEqual(["b"]);
    expect(ids(await index.list({ status: ["completed", "failed"] }))).toEqual(["d", "c"]);
    expect(ids(await index.list({ status: [] }))).toEqual([]);
    expect(ids(await index.list({ workflow: "orders", status: ["pending", "cancelled"] }))).toEqual([
      "e",
      "a",
    ]);
    expect(ids(await index.list({ key: "k1" }))).toEqual(["c", "a"]);
    expect(ids(await index.list({ key: "k1", workflow: "orders" }))).toEqual(["a"]);
    expect(ids(await index.list({ key: "k1", status: "completed" }))).toEqual(["c"]);
    expect(ids(await index.list({ createdAfter: 2_000, createdBefore: 4_000 }))).toEqual(["c", "b"]);
    expect(ids(await index.list({ workflow: "orders", createdAfter: 2_001 }))).toEqual(["e", "d"]);
  });

  it("answers the oldest first where that is asked for, also within a time and a page", async () => {
    const { index } = await seeded();
    const order = "oldest";
    expect(ids(await index.list({ order }))).toEqual(["a", "b", "c", "d", "e"]);
    expect(ids(await index.list({ order, createdAfter: 2_000, createdBefore: 4_000 }))).toEqual(["b", "c"]);
    const page = await index.list({ order, workflow: "orders", limit: 2 });
    expect(ids(page)).toEqual(["a", "b"]);
    const next = { order, workflow: "orders", cursor: page.cursor as string } as const;
    expect(ids(await index.list(next))).toEqual(["d", "e"]);
    expect(ids(await index.list({ ...next, createdAfter: 4_001 }))).toEqual(["e"]);
  });

  it("a run whose id is empty is in every order, at the bound of a time too", async () => {
    const { log, index } = scene();
    for (const id of ["b", "", "a"]) await put(log, id, created("orders", 7));
    for (const order of ["newest", "oldest"] as const)
      expect(ids(await index.list({ order, createdAfter: 7, createdBefore: 8 })).sort()).toEqual([
        "",
        "a",
        "b",
      ]);
  });

  it("breaks ties of time by run id, descending", async () => {
    const { log, index } = scene();
    for (const id of ["b", "c", "a"]) await put(log, id, created("orders", 7));
    expect(ids(await index.list())).toEqual(["c", "b", "a"]);
    const page = await index.list({ workflow: "orders", limit: 2 });
    expect(ids(page)).toEqual(["c", "b"]);
    expect(ids(await index.list({ workflow: "orders", limit: 2, cursor: page.cursor as string }))).toEqual([
      "a",
    ]);
  });

  it("holds the page size between 1 and 1,000, floors it, and takes 20 when there is none", async () => {
    const { log, index } = scene();
    for (let i = 0; i < 25; i++) await put(log, `r${i}`, created("orders", i));
    expect((await index.list()).runs.length).toBe(20);
    expect((await index.list({ limit: Number.NaN })).runs.length).toBe(20);
    expect((await index.list({ limit: 0 })).runs.length).toBe(1);
    expect((await index.list({ limit: -3 })).runs.length).toBe(1);
    expect((await index.list({ limit: 2.9 })).runs.length).toBe(2);
    expect((await index.list({ limit: Number.POSITIVE_INFINITY })).runs.length).toBe(25);
  });

  it("refuses a cursor that no page answered", async () => {
    const { index } = await seeded();
    const { cursor } = await index.list({ limit: 1 });
    for (const bad of [
      "",
      "x",
      "e30",
      `${cursor}A`,
      Buffer.from("[1]").toString("base64url"),
      Buffer.from('["1","a"]').toString("base64url"),
    ]) {
      const refused = await index.list({ cursor: bad }).catch((error: unknown) => error);
      expect(InvalidCursorError.is(refused), bad).toBe(true);
    }
  });

  it("keeps ids, workflows, keys and tenants of any text", async () => {
    const { log, index } = scene();
    const odd = ["__proto__", "a\0b", "\ud800", "a/b", "%0041", "ü☃", "x".repeat(2_000), " "];
    for (const [i, text] of odd.entries())
      await put(log, text, created(text, i, { key: text, tenant: text, codeVersion: text }));
    expect(ids(await index.list()).toReversed()).toEqual(odd);
    for (const text of odd) {
      expect(await index.get(text)).toMatchObject({
        runId: text,
        workflow: text,
        key: text,
        tenant: text,
        codeVersion: text,
      });
      expect(ids(await index.list({ workflow: text, key: text }))).toEqual([text]);
    }
  });

  it("is not confused by instants beyond what an integer column can give back", async () => {
    const { log, index } = scene();
    await put(log, "far", created("orders", 8.64e15), asleep("sleep!x#0", 1e300));
    await put(log, "before", created("orders", -62_135_596_800_000.5));
    expect((await index.list()).runs.map(({ createdAt }) => createdAt)).toEqual([
      8.64e15, -62_135_596_800_000.5,
    ]);
    expect(await index.nextDeadline()).toBe(1e300);
  });
});

describe("get and count", () => {
  it("answers undefined for an unknown run, and follows a run through its life", async () => {
    const { log, index } = scene();
    expect(await index.get("a")).toBeUndefined();
    await put(log, "a", created());
    expect((await index.get("a"))?.status).toBe("pending");
    await put(log, "a", started());
    expect((await index.get("a"))?.status).toBe("running");
    await put(log, "a", cancelled(9_100), completed(9_200));
    expect(await index.get("a")).toMatchObject({ status: "cancelled", endedAt: 9_100, revision: 3 });
  });

  it("counts by workflow and status", async () => {
    const { log, index } = scene();
    await put(log, "a", created("orders"), started());
    await put(log, "b", created("orders"));
    await put(log, "c", created("mail"), started(), completed());
    expect(await index.count()).toBe(3);
    expect(await index.count({ workflow: "orders" })).toBe(2);
    expect(await index.count({ status: ["running", "completed"] })).toBe(2);
    expect(await index.count({ workflow: "orders", status: "completed" })).toBe(0);
    expect(await index.count({ workflow: "nobody" })).toBe(0);
    await put(log, "a", completed());
    expect(await index.count({ workflow: "orders", status: "completed" })).toBe(1);
    expect(await index.count({ status: "running" })).toBe(0);
  });
});

describe("runs that cannot be read", () => {
  it("R2 an event of a newer version marks its run, with the reason, and holds up no other", async () => {
    const { log, index } = scene();
    await put(log, "bad", created("orders", 1), started(), asleep("sleep!x#0", 5));
    await put(log, "good", created("orders", 2), asleep("sleep!x#0", 6));
    await put(log, "bad", ofNewerVersion(asleep("sleep!y#0", 7)));
    await put(log, "good", asleep("sleep!y#0", 8));
    expect(await index.problems()).toEqual([
      { runId: "bad", reason: expect.stringContaining("schema version 999") },
    ]);
    expect((await index.list()).runs.map(({ runId, problem }) => [runId, problem !== undefined])).toEqual([
      ["good", false],
      ["bad", true],
    ]);
    expect((await index.due({ until: 100 })).map(({ runId }) => runId)).toEqual(["good", "good"]);
    expect((await index.owed(10)).map(({ runId }) => runId)).toEqual(["good"]);
    await put(log, "bad", cancelled());
    expect(await index.get("bad")).toMatchObject({ status: "cancelled", problem: expect.any(String) });
  });

  it("a creation that cannot be read still shows the workflow and the time that stand in it", async () => {
    const { log, index } = scene();
    await put(log, "bad", ofNewerVersion(created("orders", 77)));
    expect(await index.get("bad")).toMatchObject({
      workflow: "orders",
      createdAt: 77,
      status: "pending",
      problem: expect.any(String),
    });
    expect(ids(await index.list({ workflow: "orders" }))).toEqual(["bad"]);
  });

  it("a stream that does not begin with its creation is marked", async () => {
    const { log, index } = scene();
    await put(log, "bad", started());
    expect(await index.problems()).toEqual([
      { runId: "bad", reason: expect.stringContaining("RunStarted and not RunCreated") },
    ]);
  });

  it("events of these types in streams that are no run's are passed over", async () => {
    const { log, index } = scene();
    const { id, type, data, metadata } = ofNewerVersion(created());
    await log.append("elsewhere", "none", [{ id, type, data, metadata }])();
    expect(await index.list()).toEqual({ runs: [] });
    expect(await index.problems()).toEqual([]);
  });
});

describe("catching up", () => {
  it("R1 answers without looking at the log only when told so", async () => {
    const { log, index } = scene();
    await put(log, "a", created());
    expect(await index.get("a", { catchUp: false })).toBeUndefined();
    expect((await index.get("a"))?.runId).toBe("a");
  });

  it("C2 a tail of events of no interest is read once", async () => {
    const log = createMemoryLog();
    const reads: string[] = [];
    const watched: EventLog = {
      ...log,
      readAll: (options) => {
        reads.push(options?.after ?? "start");
        return log.readAll(options);
      },
    };
    const index = openRunIndex(watched);
    onTestFinished(() => index.close());
    await put(log, "a", created());
    for (let i = 0; i < 10; i++)
      await put(log, "a", { type: "AttemptClaimed", data: { key: `s#${i}`, holder: "h", at: i } });
    await index.catchUp();
    expect(await index.lag()).toEqual({
      checkpoint: await log.head(),
      head: await log.head(),
      caughtUp: true,
    });
    const before = reads.length;
    await index.list();
    await index.list();
    expect(reads.length).toBe(before);
  });

  it("C4 a caller that comes when a catch-up has already seen the log's end waits for the next one, with all others", async () => {
    const log = createMemoryLog();
    let heads = 0;
    const gate = Promise.withResolvers<void>();
    const slow: EventLog = {
      ...log,
      head: async () => {
        const head = await log.head();
        if (heads++ === 0) await gate.promise;
        return head;
      },
    };
    const index = openRunIndex(slow);
    onTestFinished(() => index.close());
    await put(log, "a", created("orders", 1));
    const first = index.list();
    while (heads === 0) await Promise.resolve();
    await put(log, "b", created("orders", 2));
    const later = [index.list(), index.list(), index.list()];
    gate.resolve();
    expect(ids(await first)).toEqual(["a"]);
    for (const page of await Promise.all(later)) expect(ids(page)).toEqual(["b", "a"]);
    expect(heads).toBe(2);
  });

  it("reached answers once a position is indexed, and rejects for one the log does not show", async () => {
    const { log, index } = scene();
    const position = await put(log, "a", created());
    await index.reached(position);
    expect((await index.get("a", { catchUp: false }))?.runId).toBe("a");
    const other = createMemoryLog();
    let beyond = position;
    for (let i = 0; i < 5; i++) beyond = await put(other, "x", created());
    const refused = await index.reached(beyond).catch((error: unknown) => error);
    expect(StoreError.is(refused) && refused.error._tag).toBe("Unavailable");
  });

  it("lag says how far the index is behind", async () => {
    const { log, index } = scene();
    expect(await index.lag()).toEqual({ checkpoint: undefined, head: undefined, caughtUp: true });
    await put(log, "a", created());
    expect(await index.lag()).toEqual({ checkpoint: undefined, head: await log.head(), caughtUp: false });
    await index.catchUp();
    expect((await index.lag()).caughtUp).toBe(true);
  });

  it("reports progress of a rebuild, step by step up to the head", async () => {
    const seen: number[] = [];
    const { log, index } = scene({ onProgress: ({ events }) => seen.push(events) });
    for (let i = 0; i < 10_500; i++) await put(log, `r${i}`, created("orders", i));
    await index.rebuild();
    expect(seen).toEqual([5_000, 10_000, 10_500]);
    expect(await index.count()).toBe(10_500);
  });

  it("a log that fails says so to the caller, and the next call tries again", async () => {
    const log = createMemoryLog();
    let broken = true;
    const flaky: EventLog = {
      ...log,
      head: async () => {
        if (broken)
          throw new StoreError("The disk is away.", { _tag: "Unavailable", reason: "The disk is away." });
        return log.head();
      },
    };
    const index = openRunIndex(flaky);
    onTestFinished(() => index.close());
    await put(log, "a", created());
    const refused = await index.list().catch((error: unknown) => error);
    expect(StoreError.is(refused) && refused.message).toBe("The disk is away.");
    broken = false;
    expect(ids(await index.list())).toEqual(["a"]);
  });

  it("a closed index refuses, closes once, and leaves the log open", async () => {
    const { log, index } = scene();
    await put(log, "a", created());
    const running = index.list().catch((error: unknown) => error);
    await Promise.all([index.close(), index.close()]);
    await running;
    const refused = await index.list().catch((error: unknown) => error);
    expect(StoreError.is(refused) && refused.error._tag).toBe("Unavailable");
    expect(await log.head()).toBeDefined();
  });
});
