import { describe, expect, it } from "vitest";
import type { CaughtUp, RecordedEvent } from "../../src/events/event-log.ts";
import { checkSqliteLog } from "../../src/store-sqlite/index.ts";
import { collect, event, put, testFolder, until } from "./kit.ts";

const { path, open, start } = testFolder();

describe("two logs on one file", () => {
  it("see each other's revisions in the next append, however they take turns", async () => {
    const file = path();
    const [one, two] = [open(file), open(file)];
    for (let n = 0; n < 40; n += 1) {
      const [first, second] = n % 2 === 0 ? [one, two] : [two, one];
      expect(await put(first, "a", n * 2 - 1 < 0 ? "none" : n * 2 - 1, event())).toMatchObject({
        revision: n * 2,
      });
      expect(await put(second, "a", n === 0 ? "none" : n * 2 - 1, event())).toMatchObject({ actual: n * 2 });
      expect(await put(second, "a", n * 2, event())).toMatchObject({ revision: n * 2 + 1 });
    }
    expect((await collect(one.read("a"))).map((it) => it.revision)).toEqual([...Array(80).keys()]);
  });

  it("forget revisions that too many foreign events made old", async () => {
    const file = path();
    const [one, two] = [open(file), open(file)];
    await put(one, "a", "none", event());
    for (let n = 0; n < 25; n += 1) await put(two, "a", "any", ...Array.from({ length: 100 }, () => event()));
    expect(await put(one, "a", 0, event())).toMatchObject({ _tag: "WrongExpectedRevision", actual: 2_500 });
    expect(await put(one, "a", 2_500, event())).toMatchObject({ revision: 2_501 });
  });

  it("P5 F1 a subscription gets the events of both in log order, each once", async () => {
    const file = path();
    const [one, two] = [open(file), open(file)];
    const seen: (RecordedEvent | CaughtUp)[] = [];
    one.subscribe({ after: "start" }).subscribe((it) => seen.push(it));
    const writes: Promise<unknown>[] = [];
    for (let n = 0; n < 50; n += 1) {
      writes.push(put(one, `one-${n}`, "none", event()), put(two, `two-${n}`, "none", event(), event()));
      if (n % 7 === 0) await Promise.all(writes);
    }
    await Promise.all(writes);
    const positions = () => seen.flatMap((it) => ("type" in it ? [Number(it.position)] : []));
    await until("all events", () => positions().length >= 150);
    expect(positions()).toEqual(Array.from({ length: 150 }, (_, n) => n + 1));
  });

  it("answers Unavailable when another connection keeps the write lock, and goes on afterwards", async () => {
    const file = path();
    const log = open(file, { busyTimeoutMs: 60 });
    const { DatabaseSync } = await import("node:sqlite");
    const other = new DatabaseSync(file);
    other.exec("BEGIN IMMEDIATE");
    expect(await put(log, "a", "none", event())).toMatchObject({
      _tag: "Unavailable",
      reason: expect.stringContaining(file),
    });
    other.exec("ROLLBACK");
    other.close();
    expect(await put(log, "a", "none", event())).toEqual({ revision: 0, position: "1" });
  });
});

describe("several processes on one file", () => {
  it("P2 have exactly one winner for each revision of a stream", async () => {
    const file = path();
    const racers = Array.from({ length: 3 }, () => start("writer-process.ts", ["race", file, "run-1", "60"]));
    const others = start("writer-process.ts", ["race", file, "run-2", "60"]);
    const codes = await Promise.all([...racers, others].map(async (it) => (await it.gone)[0]));
    expect(codes).toEqual([0, 0, 0, 0]);
    const events = await collect(open(file).read("run-1"));
    expect(events.map((it) => it.revision)).toEqual([...Array(180).keys()]);
    const wins = Map.groupBy(events, (it) => it.data.pid);
    expect([...wins.values()].map((it) => it.length)).toEqual([60, 60, 60]);
    expect(await collect(open(file).read("run-2"))).toHaveLength(60);
  }, 20_000);

  it("P4 lose nothing that was acknowledged when one is killed, ten times over", async () => {
    const file = path();
    const acknowledged = new Map<string, number>();
    for (let n = 0; n < 10; n += 1) {
      const writer = start("writer-process.ts", ["busy", file]);
      for (let heard = 0; heard < 12 + n * 5; heard += 1) {
        const [stream, revision] = String((await writer.lines.next()).value).split(" ");
        acknowledged.set(stream!, Number(revision));
      }
      writer.child.kill("SIGKILL");
      await writer.gone;
    }
    const log = open(file);
    expect(acknowledged.size).toBe(40);
    for (const [stream, revision] of acknowledged) {
      const events = await collect(log.read(stream));
      expect(events.length).toBeGreaterThan(revision);
      expect(events.length % 2).toBe(0);
    }
    await log.close();
    expect(checkSqliteLog(file)).toMatchObject({ healthy: true, problems: [], streams: 40 });
  }, 30_000);
});
