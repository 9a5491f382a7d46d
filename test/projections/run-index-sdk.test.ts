/** Runs of the Workflow SDK in the run index: rows of their own kind, the hooks that can be answered, and who is owed a message. */
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EventData, EventLog, RecordedEvent } from "../../src/events/event-log.ts";
import { encodeSdkEvent } from "../../src/events/sdk-codec.ts";
import { encodeSdkQueueEvent } from "../../src/events/sdk-queue.ts";
import { type SdkEventName, sdkTypeOf } from "../../src/events/sdk-runs.ts";
import { runStream, sdkQueueStream } from "../../src/events/stream-names.ts";
import { openRunIndex, type RunIndex } from "../../src/projections/run-index.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { created, put, started, temporaryPath } from "./scene.ts";

let ids = 0;

const event = (name: SdkEventName, at: number, more: object = {}): EventData =>
  encodeSdkEvent({
    type: sdkTypeOf(name),
    data: { eventId: `evnt_${String(++ids).padStart(26, "0")}`, createdAt: at, ...more },
  });

const createdBySdk = (at = 1, workflowName = "wf"): EventData =>
  event("run_created", at, { eventData: { json: { workflowName } } });

const hookEvent = (
  name: "hook_created" | "hook_received" | "hook_disposed",
  correlationId: string,
): EventData => event(name, 5, { correlationId });

const queued = async (log: EventLog, runId: string): Promise<void> => {
  const data = { messageId: `m${++ids}`, queue: "q", message: { json: { runId } }, at: 1, deliverAt: 1 };
  await log.append(sdkQueueStream(runId), "any", [encodeSdkQueueEvent({ type: "SdkMessageQueued", data })])();
};

const owedBy = async (index: RunIndex): Promise<string[]> =>
  (await index.sdk.owed()).map(({ runId, workflow }) => `${runId} ${workflow}`);

describe("a run of the Workflow SDK in the index", () => {
  it("is a row of its own kind, whose workflow is not the engine's of that name", async () => {
    const log = createMemoryLog();
    const index = openRunIndex(log);
    await put(log, "engine", created("wf", 1), started());
    await put(log, "sdk", createdBySdk(2), event("run_started", 3), event("run_completed", 7));
    await put(log, "going", createdBySdk(3), event("run_started", 4));
    expect((await index.list()).runs).toMatchObject([
      { runId: "going", kind: "sdk", workflow: "wf", status: "running", createdAt: 3 },
      { runId: "sdk", kind: "sdk", workflow: "wf", status: "completed", createdAt: 2, endedAt: 7 },
      { runId: "engine", kind: "run", workflow: "wf", status: "running", createdAt: 1 },
    ]);
    const idsOf = async (query: object) => (await index.list(query)).runs.map(({ runId }) => runId);
    expect(await idsOf({ kind: "sdk", workflow: "wf" })).toEqual(["going", "sdk"]);
    expect(await idsOf({ kind: "run", workflow: "wf" })).toEqual(["engine"]);
    expect(await idsOf({ kind: ["run", "thread"] })).toEqual(["engine"]);
    expect(await idsOf({ kind: [] })).toEqual([]);
    expect(await idsOf({ kind: "sdk", status: "completed" })).toEqual(["sdk"]);
    expect([
      await index.count(),
      await index.count({ kind: "sdk" }),
      await index.count({ kind: "run" }),
    ]).toEqual([3, 2, 1]);
  });

  it("is owed no delivery by the engine's workers", async () => {
    const log = createMemoryLog();
    const index = openRunIndex(log);
    await put(log, "sdk", createdBySdk(), event("run_started", 2), hookEvent("hook_created", "h"));
    await put(log, "engine", created());
    expect((await index.owed(9)).map(({ runId }) => runId)).toEqual(["engine"]);
    expect(await index.nextDeadline()).toBeUndefined();
  });

  it("stays as it ended: the first end stands", async () => {
    const log = createMemoryLog();
    const index = openRunIndex(log);
    await put(
      log,
      "r",
      createdBySdk(),
      event("run_cancelled", 5),
      event("run_completed", 6),
      event("run_started", 7),
    );
    expect(await index.get("r")).toMatchObject({ status: "cancelled", endedAt: 5 });
  });

  it("that cannot be read is marked, keeps its name, and holds up no other", async () => {
    const log = createMemoryLog();
    const index = openRunIndex(log);
    await put(log, "bad", { ...createdBySdk(4, "shop"), metadata: { v: 999 } }, event("run_started", 5));
    await put(log, "late", event("run_started", 5));
    await put(log, "good", createdBySdk());
    expect(await index.get("bad")).toMatchObject({
      kind: "sdk",
      workflow: "shop",
      createdAt: 4,
      status: "running",
    });
    expect(await index.problems()).toMatchObject([
      { runId: "bad" },
      { runId: "late", reason: expect.stringMatching(/is SdkRunStarted and not SdkRunCreated/) },
    ]);
    expect(await owedBy(index)).toEqual(["good wf"]);
  });
});

describe("M1 a message is owed", () => {
  it("to a run that was created, or received something, until one is queued or the run is over", async () => {
    const log = createMemoryLog();
    const index = openRunIndex(log);
    await put(log, "r", createdBySdk());
    expect(await owedBy(index)).toEqual(["r wf"]);
    await queued(log, "r");
    expect(await owedBy(index)).toEqual([]);
    await put(log, "r", event("run_started", 2), hookEvent("hook_created", "h"));
    expect(await owedBy(index)).toEqual([]);
    await put(log, "r", hookEvent("hook_received", "h"));
    expect(await owedBy(index)).toEqual(["r wf"]);
    await put(log, "r", event("run_completed", 9));
    await queued(log, "r");
    expect(await owedBy(index)).toEqual([]);
  });

  it("to no run whose first message came before its creation", async () => {
    const log = createMemoryLog();
    const index = openRunIndex(log);
    await queued(log, "r");
    await index.catchUp();
    await put(log, "r", createdBySdk());
    expect(await owedBy(index)).toEqual([]);
  });
});

describe("M2 hooks", () => {
  it("are kept in the order in which they were made, until they are disposed or their run is over", async () => {
    const log = createMemoryLog();
    const index = openRunIndex(log);
    await put(log, "b", createdBySdk(), hookEvent("hook_created", "1"), hookEvent("hook_created", "2"));
    await put(log, "a", createdBySdk(), hookEvent("hook_created", "3"));
    const listed = async (order: "newest" | "oldest", after?: string) =>
      index.sdk.hooks({ limit: 2, order, ...(after !== undefined && { after }) });
    const first = await listed("newest");
    expect(first.map(({ runId, hookId }) => runId + hookId)).toEqual(["a3", "b2"]);
    await put(log, "b", hookEvent("hook_disposed", "2"));
    expect((await listed("newest", first[1]!.place)).map(({ hookId }) => hookId)).toEqual(["1"]);
    expect((await listed("oldest")).map(({ hookId }) => hookId)).toEqual(["1", "3"]);
    expect(await index.sdk.hook("3")).toMatchObject({ runId: "a", hookId: "3" });
    await put(log, "a", event("run_failed", 9));
    expect(await index.sdk.hook("3")).toBeUndefined();
    expect((await listed("oldest")).map(({ hookId }) => hookId)).toEqual(["1"]);
  });
});

type Act = { readonly run: number; readonly what: number } | "catch up" | "reopen" | "twice at once";

const RUNS = ["x", "y/1", "z\0"];

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ run: fc.nat(RUNS.length - 1), what: fc.nat(11) }) },
  { weight: 3, arbitrary: fc.constantFrom("catch up" as const, "reopen" as const, "twice at once" as const) },
);

/** A run as its World would let it be, and what is expected of it. */
class Life {
  created = false;
  over = false;
  queued = false;
  received = false;
  readonly hooks: string[] = [];
  get owed(): boolean {
    return this.created && !this.over && (this.received || !this.queued);
  }
}

const live = async (log: EventLog, runId: string, life: Life, what: number): Promise<void> => {
  if (what < 3) {
    life.queued = true;
    life.received = false;
    return queued(log, runId);
  }
  if (!life.created) {
    life.created = true;
    await put(log, runId, createdBySdk());
    return;
  }
  if (life.over) return;
  const hookId = life.hooks[0];
  if (what < 6) {
    const made = `h${++ids}`;
    life.hooks.push(made);
    await put(log, runId, hookEvent("hook_created", made));
  } else if (what < 8 && hookId !== undefined) {
    life.received = true;
    await put(log, runId, hookEvent("hook_received", hookId));
  } else if (what < 10 && hookId !== undefined) {
    life.hooks.shift();
    await put(log, runId, hookEvent("hook_disposed", hookId));
  } else if (what === 11) {
    life.over = true;
    life.hooks.length = 0;
    await put(log, runId, event("run_completed", 9));
  }
};

/** A log that hands out events again which it has handed out before. */
const repeating = (log: EventLog, every: number): EventLog => ({
  ...log,
  async *readAll(options) {
    const recent: RecordedEvent[] = [];
    let n = 0;
    for await (const one of log.readAll(options)) {
      yield one;
      recent.push(one);
      if (++n % every === 0) yield* recent.splice(0);
    }
  },
});

const rowsOf = (path: string): unknown => {
  const database = new DatabaseSync(path, { readOnly: true });
  const rows = ["workflows", "runs", "sdk_messages", "sdk_hooks", "counts WHERE n <> 0"].map((table) =>
    database.prepare(`SELECT * FROM ${table}`).all(),
  );
  database.close();
  return rows;
};

it("M3 caught up in any chunks, with repeats, shared and reopened, the rows are those of one rebuild, and what the lives say", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(act, { maxLength: 50, size: "max" }),
      fc.integer({ min: 1, max: 5 }),
      async (acts, every) => {
        const log = createMemoryLog({ clock: () => 0 });
        const [path, rebuilt] = [temporaryPath(), temporaryPath()];
        const lives = RUNS.map(() => new Life());
        let index = openRunIndex(repeating(log, every), { path });
        for (const step of acts) {
          if (typeof step === "object") await live(log, RUNS[step.run]!, lives[step.run]!, step.what);
          else if (step === "catch up") await index.catchUp();
          else if (step === "reopen") {
            await index.close();
            index = openRunIndex(repeating(log, every), { path });
          } else {
            const other = openRunIndex(log, { path });
            await Promise.all([index.catchUp(), other.catchUp()]);
            await other.close();
          }
        }
        await index.catchUp();
        const whole = openRunIndex(log, { path: rebuilt });
        await whole.catchUp();
        expect(rowsOf(path)).toEqual(rowsOf(rebuilt));
        const owed = RUNS.filter((_, i) => lives[i]!.owed).map((runId) => `${runId} wf`);
        expect((await owedBy(index)).sort()).toEqual(owed.sort());
        const hooks = await index.sdk.hooks({ limit: 1_000, order: "oldest" });
        expect(hooks.map(({ hookId }) => hookId).sort()).toEqual(lives.flatMap((life) => life.hooks).sort());
        await Promise.all([index.close(), whole.close()]);
      },
    ),
    { numRuns: 60 },
  );
}, 60_000);

it("a run that an older version could not read is owed what it was owed before", async () => {
  const log = createMemoryLog();
  const path = temporaryPath();
  await put(log, "sent", { ...createdBySdk(), metadata: { v: 999 } });
  await queued(log, "sent");
  await put(log, "unsent", { ...createdBySdk(), metadata: { v: 999 } });
  const old = openRunIndex(log, { path });
  expect(await owedBy(old)).toEqual([]);
  await old.close();
  const upgraded: EventLog = {
    ...log,
    async *read(stream, options) {
      for await (const one of log.read(stream, options)) yield { ...one, metadata: { v: 1 } };
    },
  };
  const index = openRunIndex(upgraded, { path });
  expect(await owedBy(index)).toEqual(["unsent wf"]);
  expect(await index.problems()).toEqual([]);
  await index.close();
});

it("its stream is the only one it has a row for", async () => {
  const log = createMemoryLog();
  const index = openRunIndex(log);
  await queued(log, "only a message");
  expect(await index.count()).toBe(0);
  await log.append(runStream("r"), "none", [createdBySdk()])();
  expect(await index.count()).toBe(1);
});
