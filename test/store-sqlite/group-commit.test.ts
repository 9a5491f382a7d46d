import { afterEach, describe, expect, it, vi } from "vitest";
import { collect, event, put, testFolder } from "./kit.ts";

const { path, open } = testFolder();
afterEach(() => void vi.useRealTimers());

/** The clock is asked once per transaction: events of one transaction were recorded at the same instant. */
const counting = () => {
  let transactions = 0;
  return { clock: () => ++transactions, count: () => transactions };
};

describe("group commit", () => {
  it("makes one transaction of all appends of a turn", async () => {
    const { clock, count } = counting();
    const log = open(path(), { clock });
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, n) => put(log, `run-${n}`, "none", event(), event())),
    );
    expect(answers.map((it) => "revision" in it && it.revision)).toEqual(Array(64).fill(1));
    expect(count()).toBe(1);
  });

  it("gathers the appends of many callbacks of one phase of the event loop", async () => {
    const { clock, count } = counting();
    const log = open(path(), { clock });
    await Promise.all(
      Array.from(
        { length: 16 },
        (_, n) => new Promise((done) => setImmediate(() => done(put(log, `run-${n}`, "none", event())))),
      ),
    );
    expect(count()).toBe(1);
  });

  it("W1 W2 refuses one append and writes the others, each decided against what stands before it", async () => {
    const { clock, count } = counting();
    const log = open(path(), { clock });
    const answers = await Promise.all([
      put(log, "a", "none", event("A0"), event("A1")),
      put(log, "a", "none", event("no")),
      put(log, "a", 1, event("A2")),
      put(log, "b", 0, event("no")),
      put(log, "b", "any", event("B0")),
      put(log, "a", 1, event("no")),
    ]);
    expect(answers).toEqual([
      { revision: 1, position: "2" },
      { _tag: "WrongExpectedRevision", stream: "a", actual: 1 },
      { revision: 2, position: "3" },
      { _tag: "WrongExpectedRevision", stream: "b", actual: "none" },
      { revision: 0, position: "4" },
      { _tag: "WrongExpectedRevision", stream: "a", actual: 2 },
    ]);
    expect((await collect(log.readAll())).map((it) => it.type)).toEqual(["A0", "A1", "A2", "B0"]);
    expect(count()).toBe(1);
  });

  it("does not strand appends, reads and subscriptions when timers are faked", async () => {
    const log = open(path());
    vi.useFakeTimers();
    const seen: string[] = [];
    log.subscribe({ after: "start" }).subscribe((it) => seen.push("type" in it ? it.type : it._tag));
    await put(log, "a", "none", event("First"));
    await put(log, "a", 0, event("Second"));
    expect((await collect(log.read("a"))).map((it) => it.type)).toEqual(["First", "Second"]);
    await log.close();
    expect(seen.filter((it) => it !== "CaughtUp")).toEqual(["First", "Second"]);
  });

  it("refuses an event beyond 64 MiB with its size and takes one of 10 MB", async () => {
    const log = open(path());
    const big = event("Big", { text: "x".repeat(10_000_000) });
    const tooBig = event("TooBig", { text: "x".repeat(64 * 1024 * 1024) });
    const [one, two, three] = await Promise.all([
      put(log, "a", "none", big),
      put(log, "a", "any", tooBig),
      put(log, "a", 0, event("Small")),
    ]);
    expect(one).toEqual({ revision: 0, position: "1" });
    expect(two).toEqual({ _tag: "TooLarge", limit: 67_108_864, actual: 67_108_864 + '{"text":""}'.length });
    expect(three).toEqual({ revision: 1, position: "2" });
    const [read] = await collect(log.read("a", { max: 1 }));
    expect(read!.data.text === big.data.text).toBe(true);
  });

  it("keeps ids that are no UUIDs as they are", async () => {
    const log = open(path());
    const ids = [
      "",
      ":",
      "ABCDEF00-0000-4000-8000-000000000000",
      "ABCDEF00000040008000000000000000",
      "\u0000\ud800 id",
    ];
    await put(log, "a", "none", ...ids.map((id) => ({ ...event(), id })));
    expect((await collect(log.read("a"))).map((it) => it.id)).toEqual(ids);
  });
});
