import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, vi } from "vitest";
import type { Consumed, ConsumeOptions, EventLog } from "../../src/events/event-log.ts";
import { checkSqliteLog } from "../../src/store-sqlite/index.ts";
import { event, put, testFolder, until } from "./kit.ts";

const { path, open, start } = testFolder();

/** What a consumer was given; nothing is acked but by the test, or at once. */
const consume = (log: EventLog, options: ConsumeOptions & { ackAtOnce?: boolean } = {}, group = "group") => {
  const got: Consumed[] = [];
  const errors: unknown[] = [];
  const subscription = log.consume(group, options).subscribe({
    next: (it) => {
      got.push(it);
      if (options.ackAtOnce) it.ack();
    },
    error: (error) => errors.push(error),
  });
  return { got, errors, leave: () => subscription.unsubscribe(), names: () => got.map((it) => nameOf(it)) };
};
const nameOf = ({ event: { stream, revision } }: Consumed): string => `${stream}@${revision}`;

const writeStreams = async (log: EventLog, from: number, to: number): Promise<void> => {
  const all = Array.from({ length: to - from }, (_, n) => put(log, `run-${from + n}`, "none", event()));
  await Promise.all(all);
};

describe("a delivery", () => {
  it("rides in the transaction of the append that caused it, and so does the ack before it", async () => {
    let transactions = 0;
    const log = open(path(), { clock: () => ++transactions, pollIntervalMs: 600_000 });
    const consumer = consume(log, { ackAtOnce: true });
    await put(log, "run-0", "none", event());
    await until("the first delivery", () => consumer.got.length === 1);
    transactions = 0;
    for (let n = 1; n <= 50; n += 1) await put(log, `run-${n}`, "none", event());
    expect(consumer.got).toHaveLength(51);
    expect(transactions).toBe(50);
  });

  it("is not made again when it was acked before the log was closed and opened anew", async () => {
    const file = path();
    const log = open(file);
    const before = consume(log, {});
    await writeStreams(log, 0, 6);
    await until("six deliveries", () => before.got.length === 6);
    for (const it of before.got.slice(0, 4)) it.ack();
    await log.close();
    const again = open(file);
    const after = consume(again, { ackAtOnce: true });
    await until("the rest", () => after.got.length === 2);
    await put(again, "run-new", "none", event());
    await until("the new one", () => after.got.length === 3);
    expect(after.got.map((it) => [nameOf(it), it.redeliveries])).toEqual([
      ["run-4@0", 1],
      ["run-5@0", 1],
      ["run-new@0", 0],
    ]);
  });

  it("whose ack no append carries is recorded by the poll", async () => {
    const file = path();
    const log = open(file, { pollIntervalMs: 5 });
    const consumer = consume(log, { ackAtOnce: true });
    await writeStreams(log, 0, 3);
    await until("three deliveries", () => consumer.got.length === 3);
    await until("the acks", () => checkSqliteLog(file).groups[0]?.inHand === 0);
  });

  it("to be retried comes again when the clock says so, to the same consumer", async () => {
    let now = 1_000;
    const log = open(path(), { clock: () => now, pollIntervalMs: 2 });
    const consumer = consume(log);
    await put(log, "run-0", "none", event());
    await until("the delivery", () => consumer.got.length === 1);
    consumer.got[0]!.nack("retry", "not yet", 60_000);
    await put(log, "run-1", "none", event());
    await until("the next delivery", () => consumer.got.length === 2);
    now += 59_999;
    await put(log, "run-2", "none", event());
    await until("another", () => consumer.got.length === 3);
    now += 1;
    await until("the retry", () => consumer.got.length === 4);
    expect(consumer.got.map((it) => [nameOf(it), it.redeliveries])).toEqual([
      ["run-0@0", 0],
      ["run-1@0", 0],
      ["run-2@0", 0],
      ["run-0@0", 1],
    ]);
  });

  it("that was parked is counted for the operator with its reason and never comes again", async () => {
    const file = path();
    const log = open(file);
    const consumer = consume(log);
    await writeStreams(log, 0, 2);
    await until("both", () => consumer.got.length === 2);
    consumer.got[0]!.nack("park", "cannot be decoded");
    consumer.got[1]!.ack();
    await log.close();
    expect(checkSqliteLog(file).groups).toEqual([
      { name: "group", lag: 0, consumers: 0, inHand: 0, waiting: 0, parked: 1 },
    ]);
    const db = new DatabaseSync(file);
    expect(db.prepare("SELECT position, reason FROM parked").all()).toEqual([
      { position: 1, reason: "cannot be decoded" },
    ]);
    db.close();
  });
});

describe("two logs on one file, as two processes have them", () => {
  it("P6 share a group: each event goes to one, a stream with unacked events stays where it is", async () => {
    const file = path();
    const [one, two] = [open(file, { pollIntervalMs: 2 }), open(file, { pollIntervalMs: 2 })];
    const [first, second] = [consume(one, { maxInFlight: 8 }), consume(two, { maxInFlight: 8 })];
    await writeStreams(one, 0, 16);
    await until("all in hand", () => first.got.length + second.got.length === 16);
    expect(new Set([...first.names(), ...second.names()]).size).toBe(16);
    for (let n = 0; n < 16; n += 1) await put(n % 2 === 0 ? one : two, `run-${n}`, 0, event());
    for (const it of [...first.got, ...second.got]) it.ack();
    await until("the second events", () => first.got.length + second.got.length === 32);
    const owner = (name: string) => (first.names().includes(name) ? "first" : "second");
    for (let n = 0; n < 16; n += 1) expect(owner(`run-${n}@1`)).toBe(owner(`run-${n}@0`));
    expect([first.got.length, second.got.length]).toEqual([16, 16]);
  });

  it("each go on with what the other hands back", async () => {
    const file = path();
    const [one, two] = [open(file, { pollIntervalMs: 2 }), open(file, { pollIntervalMs: 2 })];
    const first = consume(one);
    await writeStreams(one, 0, 5);
    await until("all with the first", () => first.got.length === 5);
    const second = consume(two);
    first.got[0]!.ack();
    first.leave();
    await until("the rest with the second", () => second.got.length === 4);
    expect(second.got.map((it) => [nameOf(it), it.redeliveries])).toEqual(
      [1, 2, 3, 4].map((n) => [`run-${n}@0`, 1]),
    );
  });

  it("deliver what a process without consumers appends", async () => {
    const file = path();
    const worker = consume(open(file, { pollIntervalMs: 2 }), {
      filter: { types: ["Wanted"] },
      ackAtOnce: true,
    });
    const client = open(file);
    for (let n = 0; n < 30; n += 1)
      await put(client, "run-1", "any", event(n % 3 === 0 ? "Wanted" : "Other"));
    await until("the wanted ones", () => worker.got.length === 10);
    expect(worker.got.map((it) => it.event.revision)).toEqual(Array.from({ length: 10 }, (_, n) => n * 3));
  });

  it("the filter of the later caller holds for what is looked at from then on", async () => {
    const file = path();
    const [one, two] = [open(file, { pollIntervalMs: 2 }), open(file, { pollIntervalMs: 2 })];
    const first = consume(one, { filter: { types: ["Old"] }, ackAtOnce: true });
    await put(one, "run-1", "any", event("Old"), event("New"));
    await until("the old one", () => first.got.length === 1);
    const second = consume(two, { filter: { types: ["New"] }, ackAtOnce: true });
    await put(two, "run-2", "any", event("Old"), event("New"));
    await until("the new one", () => first.got.length + second.got.length === 2);
    expect([...first.names(), ...second.names()]).toEqual(["run-1@0", "run-2@1"]);
  });

  it("one that was taken for dead begins anew, and its late acks count for nothing", async () => {
    const file = path();
    const log = open(file, { pollIntervalMs: 2 });
    const consumer = consume(log);
    await put(log, "run-1", "none", event());
    await until("the delivery", () => consumer.got.length === 1);
    const db = new DatabaseSync(file, { timeout: 5_000 });
    db.exec(
      "DELETE FROM consumers; UPDATE deliveries SET owner = NULL, waiting = 1, redeliveries = redeliveries + 1",
    );
    db.close();
    await until("the redelivery", () => consumer.got.length === 2);
    consumer.got[0]!.ack();
    expect(consumer.got.map((it) => it.redeliveries)).toEqual([0, 1]);
    await log.close();
    expect(checkSqliteLog(file).groups).toMatchObject([{ consumers: 0, inHand: 0, waiting: 1 }]);
  });

  it("G4 a backlog that cannot be read fails the group and no append", async () => {
    const file = path();
    const log = open(file);
    await put(log, "run-1", "none", event("Happened", { n: 1 }));
    const db = new DatabaseSync(file, { timeout: 5_000 });
    db.exec("UPDATE events SET data = '{'");
    db.close();
    const consumer = consume(log);
    await until("the error", () => consumer.errors.length === 1);
    expect(consumer.errors[0]).toMatchObject({ name: "StoreError", error: { _tag: "Corrupt" } });
    expect(await put(log, "run-1", 0, event())).toMatchObject({ revision: 1 });
  });
});

describe("an owner that is killed", () => {
  it("loses what it had to a consumer that already waits, at once", async () => {
    const file = path();
    const log = open(file, { pollIntervalMs: 2 });
    await writeStreams(log, 0, 4);
    const holder = start("writer-process.ts", ["hold", file]);
    const held: string[] = [];
    for (let n = 0; n < 4; n += 1) held.push(String((await holder.lines.next()).value));
    expect(held).toEqual(["run-0 0", "run-1 0", "run-2 0", "run-3 0"]);
    const heir = consume(log);
    await put(log, "run-0", 0, event());
    await put(log, "run-free", "none", event());
    await until("the event of a free stream", () => heir.names().includes("run-free@0"));
    expect(heir.names()).toEqual(["run-free@0"]);
    holder.child.kill("SIGKILL");
    await holder.gone;
    const died = performance.now();
    await until("the inheritance", () => heir.got.length === 6);
    expect(heir.got.slice(1).map((it) => [nameOf(it), it.redeliveries])).toEqual([
      ["run-0@0", 1],
      ["run-1@0", 1],
      ["run-2@0", 1],
      ["run-3@0", 1],
      ["run-0@1", 0],
    ]);
    console.info(`inherited ${Math.round(performance.now() - died)} ms after the death`);
  }, 20_000);

  it("loses what it had to a log that is opened afterwards, at once", async () => {
    const file = path();
    const log = open(file);
    await writeStreams(log, 0, 4);
    await log.close();
    const holder = start("writer-process.ts", ["hold", file]);
    for (let n = 0; n < 4; n += 1) await holder.lines.next();
    holder.child.kill("SIGKILL");
    await holder.gone;
    const heir = consume(open(file, { pollIntervalMs: 600_000 }));
    await until("the inheritance", () => heir.got.length === 4);
    expect(heir.got.every((it) => it.redeliveries === 1)).toBe(true);
  }, 20_000);

  it("on another machine loses it when it was silent for half a minute, and not before", async () => {
    const file = path();
    const log = open(file, { pollIntervalMs: 2 });
    const first = consume(log);
    await writeStreams(log, 0, 2);
    await until("both", () => first.got.length === 2);
    const db = new DatabaseSync(file, { timeout: 5_000 });
    const elsewhere = JSON.stringify({ host: "elsewhere", boot: "b", namespace: "n", pid: 1, started: "1" });
    db.exec(
      "INSERT INTO consumers (id, grp, owner, beat) SELECT 99, grp, owner, beat FROM consumers; UPDATE deliveries SET owner = 99",
    );
    const silentFor = (ms: number) =>
      db.prepare("UPDATE consumers SET owner = ?, beat = ? WHERE id = 99").run(elsewhere, Date.now() - ms);
    silentFor(25_000);
    const second = open(file, { pollIntervalMs: 600_000 });
    const heir = consume(second);
    await put(second, "run-free", "none", event());
    await until("a free stream's event", () => heir.got.length + first.got.length >= 3);
    expect([...heir.names(), ...first.names()].filter((it) => it !== "run-free@0")).toEqual([
      "run-0@0",
      "run-1@0",
    ]);
    silentFor(31_000);
    db.close();
    const third = consume(open(file, { pollIntervalMs: 600_000 }));
    await until("the inheritance", () => third.got.length + first.got.length + heir.got.length >= 5);
    const again = [...third.got, ...first.got, ...heir.got].filter((it) => it.redeliveries === 1);
    expect(again.map(nameOf).sort()).toEqual(["run-0@0", "run-1@0"]);
  });
});

describe("closing", () => {
  it("hands back, leaves no timer, and keeps quiet afterwards", async () => {
    const file = path();
    const before =
      vi.getTimerCount === undefined
        ? 0
        : process.getActiveResourcesInfo().filter((it) => it === "Timeout").length;
    const log = open(file);
    const consumer = consume(log);
    const completed = vi.fn();
    log.subscribe({ after: "end" }).subscribe({ complete: completed });
    await writeStreams(log, 0, 3);
    await until("three", () => consumer.got.length === 3);
    const last = put(log, "run-last", "none", event());
    await log.close();
    await log.close();
    expect(await last).toEqual({ revision: 0, position: "4" });
    expect(completed).toHaveBeenCalledOnce();
    for (const it of consumer.got) it.ack();
    expect(process.getActiveResourcesInfo().filter((it) => it === "Timeout").length).toBeLessThanOrEqual(
      before,
    );
    expect(checkSqliteLog(file).groups).toMatchObject([{ consumers: 0, inHand: 0 }]);
  });
});
