/** What the run index says of waits: what is due, what is owed a delivery, what a run waits for. */
import { describe, expect, it, onTestFinished } from "vitest";
import { openRunIndex, type RunIndexOptions } from "../../src/projections/run-index.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import {
  asleep,
  cancelled,
  closed,
  completed,
  created,
  delivered,
  elapsed,
  failed,
  opened,
  put,
  started,
  woken,
} from "./scene.ts";

const NOW = 50_000;

const scene = (options: RunIndexOptions = {}) => {
  const log = createMemoryLog();
  const index = openRunIndex(log, { clock: () => NOW, ...options });
  onTestFinished(() => index.close());
  return { log, index };
};

describe("due", () => {
  it("answers open waits up to the instant, soonest first, in pages", async () => {
    const { log, index } = scene();
    await put(log, "a", created(), asleep("sleep!x#0", 300), asleep("sleep!y#0", 100, "sleep", "c"));
    await put(log, "b", created(), opened("hook!t#0", "t"), asleep("hookTimeout!t#0", 200, "hookTimeout"));
    await put(log, "c", created(), asleep("sleep!x#0", 200), asleep("sleep!z#0", 400));
    const everything = await index.due({ until: 300 });
    expect(everything).toEqual([
      { runId: "a", key: "sleep!y#0", kind: "sleep", wakeAt: 100 },
      { runId: "b", key: "hookTimeout!t#0", kind: "hookTimeout", wakeAt: 200 },
      { runId: "c", key: "sleep!x#0", kind: "sleep", wakeAt: 200 },
      { runId: "a", key: "sleep!x#0", kind: "sleep", wakeAt: 300 },
    ]);
    const first = await index.due({ until: 300, limit: 2 });
    const second = await index.due({ until: 300, limit: 3, after: first[1]! });
    expect([...first, ...second]).toEqual(everything);
    expect(await index.due({ until: 99 })).toEqual([]);
    expect(await index.nextDeadline()).toBe(100);
  });

  it("forgets waits that elapsed, were woken, or belong to a run that is over", async () => {
    const { log, index } = scene();
    await put(
      log,
      "a",
      created(),
      asleep("sleep!x#0", 100),
      asleep("sleep!y#0", 200),
      asleep("sleep!z#0", 300),
    );
    await put(log, "b", created(), asleep("sleep!x#0", 50));
    expect(await index.nextDeadline()).toBe(50);
    await put(log, "a", elapsed("sleep!x#0"), woken("sleep!y#0"));
    await put(log, "b", failed());
    expect((await index.due({ until: 1_000 })).map(({ key }) => key)).toEqual(["sleep!z#0"]);
    await put(log, "a", elapsed("sleep!z#0"));
    expect(await index.nextDeadline()).toBeUndefined();
  });

  it("leaves out the deadline of a hook that was answered or closed", async () => {
    const { log, index } = scene();
    await put(log, "a", created(), opened("hook!t#0", "t"), asleep("hookTimeout!t#0", 100, "hookTimeout"));
    await put(log, "b", created(), opened("hook!u#0", "u"), asleep("hookTimeout!u#0", 200, "hookTimeout"));
    expect(await index.nextDeadline()).toBe(100);
    await put(log, "a", delivered("hook!t#0"));
    expect(await index.nextDeadline()).toBe(200);
    await put(log, "b", closed("hook!u#0"));
    expect(await index.due({ until: 1_000 })).toEqual([]);
  });
});

describe("owed: the rules of JournalStore.resumableRuns", () => {
  const owedAfter = async (...events: Parameters<typeof put>[2][]) => {
    const { log, index } = scene();
    await put(log, "r", created(), ...events);
    return index.owed(1_000);
  };

  it("a pending run, and one that runs without a wait, are owed a delivery now, without a wakeAt key", async () => {
    expect(await owedAfter()).toEqual([{ runId: "r" }]);
    const owed = await owedAfter(started());
    expect(owed).toEqual([{ runId: "r" }]);
    expect("wakeAt" in owed[0]!).toBe(false);
  });

  it("a sleeping run is owed one at its earliest deadline, of any kind, past or not", async () => {
    expect(await owedAfter(started(), asleep("sleep!x#0", NOW + 5))).toEqual([
      { runId: "r", wakeAt: NOW + 5 },
    ]);
    expect(await owedAfter(asleep("sleep!x#0", NOW - 5))).toEqual([{ runId: "r", wakeAt: NOW - 5 }]);
    expect(await owedAfter(asleep("sleep!x#0", 900), asleep("hookTimeout!t#0", 700, "hookTimeout"))).toEqual([
      { runId: "r", wakeAt: 700 },
    ]);
  });

  it("a wait that was woken or recorded as elapsed is outstanding no more", async () => {
    expect(await owedAfter(asleep("sleep!x#0", 900), woken("sleep!x#0"))).toEqual([{ runId: "r" }]);
    expect(await owedAfter(asleep("sleep!x#0", 900), elapsed("sleep!x#0"))).toEqual([{ runId: "r" }]);
    expect(await owedAfter(asleep("sleep!x#0", 900), asleep("sleep!y#0", 950), elapsed("sleep!x#0"))).toEqual(
      [{ runId: "r", wakeAt: 950 }],
    );
  });

  it("a run held by an open hook alone is left out; with a deadline it is owed one then", async () => {
    expect(await owedAfter(opened("hook!t#0", "t"))).toEqual([]);
    expect(
      await owedAfter(opened("hook!t#0", "t"), asleep("hookTimeout!t#0", NOW - 1, "hookTimeout")),
    ).toEqual([{ runId: "r", wakeAt: NOW - 1 }]);
  });

  it("a run whose hook was answered or closed is owed one now", async () => {
    expect(await owedAfter(opened("hook!t#0", "t"), delivered("hook!t#0"))).toEqual([{ runId: "r" }]);
    expect(await owedAfter(opened("hook!t#0", "t"), closed("hook!t#0"))).toEqual([{ runId: "r" }]);
  });

  it("a run that is over is owed nothing", async () => {
    for (const end of [completed(), failed(), cancelled()])
      expect(await owedAfter(asleep("sleep!x#0", 1), end)).toEqual([]);
  });

  it("the soonest comes first, no deadline counts as now, the id breaks ties, and the limit holds", async () => {
    const { log, index } = scene();
    await put(log, "later", created(), asleep("sleep!x#0", NOW + 1));
    await put(log, "z-now", created());
    await put(log, "m-tie", created(), asleep("sleep!x#0", NOW));
    await put(log, "a-now", created());
    await put(log, "overdue-b", created(), asleep("sleep!x#0", 10));
    await put(log, "overdue-a", created(), asleep("sleep!x#0", 10));
    const order = ["overdue-a", "overdue-b", "a-now", "m-tie", "z-now", "later"];
    expect((await index.owed(1_000)).map(({ runId }) => runId)).toEqual(order);
    for (const limit of [1, 2, 3, 4, 5])
      expect((await index.owed(limit)).map(({ runId }) => runId)).toEqual(order.slice(0, limit));
    expect(await index.owed(0)).toEqual([]);
    expect(await index.owed(-1)).toEqual([]);
  });
});

describe("waits", () => {
  it("says what a run waits for and until when: sleeps by deadline, hooks with theirs", async () => {
    const { log, index } = scene();
    await put(log, "r", created(), asleep("sleep!b#0", 900), asleep("sleep!a#0", 500, "sleep", "c1"));
    await put(
      log,
      "r",
      opened("hook!t\0#0", "t\0"),
      asleep("hookTimeout!t\0#0", 700, "hookTimeout"),
      opened("hook!u#0", "u", 3_001),
    );
    await put(
      log,
      "r",
      opened("hook!v#0", "v"),
      asleep("hookTimeout!v#0", 800, "hookTimeout"),
      delivered("hook!v#0"),
    );
    expect(await index.waits("r")).toEqual([
      { kind: "sleep", key: "sleep!a#0", wakeAt: 500, correlationId: "c1" },
      { kind: "sleep", key: "sleep!b#0", wakeAt: 900 },
      { kind: "hook", key: "hook!t\0#0", token: "t\0", openedAt: 3_000, wakeAt: 700 },
      { kind: "hook", key: "hook!u#0", token: "u", openedAt: 3_001 },
    ]);
    expect(await index.waits("unknown")).toEqual([]);
    await put(log, "r", completed());
    expect(await index.waits("r")).toEqual([]);
  });
});
