import { afterEach, describe, expect, it, vi } from "vitest";
import type { Consumed, EventData, RecordedEvent } from "../events/event-log.ts";
import type { JsonObject } from "../events/json.ts";
import { createMemoryLog, type MemoryLog } from "./index.ts";

const note = (data: JsonObject = {}): EventData => ({
  id: crypto.randomUUID(),
  type: "Noted",
  data,
  metadata: {},
});

const put = (log: MemoryLog, stream: string, ...events: EventData[]) => log.append(stream, "any", events)();

const gather = async (source: AsyncIterable<RecordedEvent>): Promise<RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for await (const one of source) events.push(one);
  return events;
};

const revisionsOf = (seen: readonly unknown[]) => seen.map((item) => (item as RecordedEvent).revision);

describe("the memory log", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("takes recordedAt from the clock it is given, once for an append", async () => {
    let now = 1_000;
    const log = createMemoryLog({ clock: () => now++ });
    await put(log, "a", note(), note());
    await put(log, "a", note());
    const times = (await gather(log.read("a"))).map(({ recordedAt }) => recordedAt);
    expect(times).toEqual([1_000, 1_000, 1_001]);
  });

  it("asks Date.now for each append when it is given no clock, so that a faked Date is obeyed", async () => {
    const log = createMemoryLog();
    vi.useFakeTimers({ now: 5_000 });
    await put(log, "a", note());
    const [first] = await gather(log.read("a"));
    expect(first?.recordedAt).toBe(5_000);
  });

  it("M2 has called every live subscriber and consumer by the time an append is answered, and none from inside it", async () => {
    const log = createMemoryLog();
    const calls: string[] = [];
    log
      .subscribe({ after: "start" })
      .subscribe((item) => calls.push("_tag" in item ? "caught up" : "subscriber"));
    log.consume("g").subscribe(() => calls.push("consumer"));
    expect(calls).toEqual([]);
    const answer = put(log, "a", note());
    expect(calls).toEqual([]);
    await answer;
    expect(calls).toEqual(["subscriber", "caught up", "consumer"]);
  });

  it("M2 fixes what comes after `end` when it is subscribed to", async () => {
    const log = createMemoryLog();
    await put(log, "a", note());
    const seen: unknown[] = [];
    log
      .subscribe({ after: "end" })
      .subscribe((item) => seen.push("_tag" in item ? item._tag : item.revision));
    await put(log, "a", note());
    expect(seen).toEqual([1, "CaughtUp"]);
  });

  it("M3 is stranded by no fake clock, `queueMicrotask` included", async () => {
    vi.useFakeTimers({
      toFake: ["setTimeout", "setImmediate", "setInterval", "queueMicrotask", "Date"],
    });
    const log = createMemoryLog();
    const seen: unknown[] = [];
    log.subscribe({ after: "start" }).subscribe((item) => seen.push(item));
    log.consume("g").subscribe((item) => {
      seen.push(item);
      if (item.redeliveries === 0) item.nack("retry", "again");
      else item.ack();
    });
    await put(log, "a", note());
    await log.head();
    await log.close();
    expect(seen).toHaveLength(4);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("M3 has one timer for each delayed retry, and none once it is closed", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const log = createMemoryLog();
    const seen: Consumed[] = [];
    log.consume("g").subscribe((item) => {
      seen.push(item);
      item.nack("retry", "later", item.redeliveries === 0 ? 1_000 : Number.POSITIVE_INFINITY);
    });
    await put(log, "a", note(), note());
    expect(vi.getTimerCount()).toBe(2);
    await vi.advanceTimersByTimeAsync(999);
    expect(seen).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(seen.map((item) => item.redeliveries)).toEqual([0, 0, 1, 1]);
    expect(vi.getTimerCount()).toBe(2);
    await log.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("M4 freezes its own copies and leaves the appender's objects alone", async () => {
    const log = createMemoryLog();
    const given = note({ list: [{ n: 1 }] });
    await put(log, "a", given);
    const read = (await gather(log.read("a")))[0]!;
    const [item] = read.data.list as readonly JsonObject[];
    expect([read, read.data, read.data.list, item].every((value) => Object.isFrozen(value))).toBe(true);
    expect([given, given.data, given.data.list].some((value) => Object.isFrozen(value))).toBe(false);
  });

  it("P1 writes nothing of an append of which one event cannot be copied", async () => {
    const log = createMemoryLog();
    const endless: Record<string, unknown> = {};
    endless.self = endless;
    await expect(put(log, "a", note(), note(endless as JsonObject))).rejects.toThrow(RangeError);
    expect(await log.head()).toBeUndefined();
    expect(await gather(log.read("a"))).toEqual([]);
  });

  it("shares new streams out in turn among consumers that ack at once", async () => {
    const log = createMemoryLog();
    const shares = [0, 0, 0];
    for (const n of shares.keys()) {
      log.consume("g").subscribe((item) => {
        shares[n]!++;
        item.ack();
      });
    }
    for (let n = 0; n < 30; n++) await put(log, `s${n}`, note());
    expect(shares).toEqual([10, 10, 10]);
  });

  it("keeps what is parked, with the reasons, for whoever looks", async () => {
    const log = createMemoryLog();
    log.consume("g").subscribe((item) => item.nack("park", `no use for ${item.event.revision}`));
    await put(log, "a", note(), note());
    expect(log.parked("g").map(({ event, reason }) => [event.revision, reason])).toEqual([
      [0, "no use for 0"],
      [1, "no use for 1"],
    ]);
    expect(log.parked("other")).toEqual([]);
  });

  it("delivers what was appended before it was closed, and then completes", async () => {
    const log = createMemoryLog();
    const seen: unknown[] = [];
    log.subscribe({ after: "end" }).subscribe({
      next: (item) => seen.push("_tag" in item ? item._tag : item.revision),
      complete: () => seen.push("complete"),
    });
    put(log, "a", note());
    await log.close();
    expect(seen).toEqual([0, "CaughtUp", "complete"]);
  });

  it("goes on when a subscriber subscribes, unsubscribes and consumes from its callback", async () => {
    const log = createMemoryLog();
    await put(log, "a", note(), note(), note());
    const [outer, inner, consumed]: unknown[][] = [[], [], []];
    const subscription = log.subscribe({ after: "start" }).subscribe((item) => {
      outer!.push(item);
      log.subscribe({ after: "start" }).subscribe((each) => inner!.push(each));
      log.consume("g").subscribe((each) => consumed!.push(each.event));
      subscription.unsubscribe();
    });
    await put(log, "a", note());
    await put(log, "a", note());
    expect(revisionsOf(outer!)).toEqual([0]);
    expect(revisionsOf(inner!)).toEqual([0, 1, 2, 3, undefined, 4]);
    expect(revisionsOf(consumed!)).toEqual([0, 1, 2, 3, 4]);
  });
});
