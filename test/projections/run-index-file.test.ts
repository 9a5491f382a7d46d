/** The run index's file: kept, shared, thrown away when it is damaged or another log's, and refused when it is not an index. */
import { readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import type { EventLog, RecordedEvent } from "../../src/events/event-log.ts";
import { StoreError } from "../../src/events/store-error.ts";
import { openRunIndex } from "../../src/projections/run-index.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { asleep, created, elapsed, ofNewerVersion, put, started, temporaryPath } from "./scene.ts";

const idsIn = async (log: EventLog, path: string): Promise<string[]> => {
  const index = openRunIndex(log, { path });
  try {
    return (await index.list({ limit: 1_000 })).runs.map(({ runId }) => runId).sort();
  } finally {
    await index.close();
  }
};

const refusalOf = (open: () => unknown): StoreError => {
  try {
    open();
  } catch (error) {
    if (StoreError.is(error)) return error;
  }
  throw new Error("it was not refused");
};

const logOf = async (...runIds: string[]) => {
  const log = createMemoryLog();
  for (const [i, runId] of runIds.entries())
    await put(log, runId, created("orders", i), asleep("sleep!x#0", 100 + i));
  return log;
};

/** A log that counts the events read from it. */
const counting = (log: EventLog) => {
  const counter = { events: 0 };
  const watched: EventLog = {
    ...log,
    async *readAll(options) {
      for await (const event of log.readAll(options)) {
        counter.events++;
        yield event;
      }
    },
  };
  return { watched, counter };
};

describe("an index file", () => {
  it("goes on from where it was, reading only what came since", async () => {
    const [log, path] = [await logOf("a", "b"), temporaryPath()];
    expect(await idsIn(log, path)).toEqual(["a", "b"]);
    await put(log, "c", created());
    const { watched, counter } = counting(log);
    expect(await idsIn(watched, path)).toEqual(["a", "b", "c"]);
    expect(counter.events).toBe(2); // the log's first event, which says whose index this is, and the new one
  });

  it("C1 may be shared: two indexes that catch up by turns and at once agree, and neither repeats the other's work in the rows", async () => {
    const [log, path] = [await logOf("a"), temporaryPath()];
    const [one, two] = [openRunIndex(log, { path }), openRunIndex(log, { path })];
    for (let i = 0; i < 20; i++) {
      await put(log, `r${i}`, created("orders", 10 + i), asleep("sleep!x#0", 500 + i));
      const [first, second] = await Promise.all([one.list({ limit: 1_000 }), two.list({ limit: 1_000 })]);
      expect(second).toEqual(first);
      if (i % 3 === 0) await put(log, `r${i}`, elapsed("sleep!x#0"));
    }
    expect(await one.count()).toBe(21);
    expect(await two.due({ until: 1_000, limit: 1_000 })).toEqual(
      await one.due({ until: 1_000, limit: 1_000 }),
    );
    expect((await one.due({ until: 1_000, limit: 1_000 })).length).toBe(14);
    await one.rebuild();
    expect(await two.count()).toBe(21);
    await Promise.all([one.close(), two.close()]);
  });

  it("C1 a step that another process has gone past does not move the checkpoint back", async () => {
    const [log, path] = [await logOf("a", "b"), temporaryPath()];
    const fast = openRunIndex(log, { path });
    let overtaken = false;
    const slow = openRunIndex(
      {
        ...log,
        async *readAll(options) {
          yield* log.readAll(options);
          if (options?.filter === undefined || overtaken) return;
          overtaken = true;
          await put(log, "c", created());
          await fast.catchUp();
        },
      },
      { path },
    );
    await slow.catchUp();
    expect(overtaken).toBe(true);
    expect((await slow.lag()).checkpoint).toBe(await log.head());
    expect(await slow.count({}, { catchUp: false })).toBe(3);
    await Promise.all([fast.close(), slow.close()]);
  });

  it("C1 a step whose ground another process has cleared begins again", async () => {
    const [log, path] = [await logOf("a", "b"), temporaryPath()];
    let cleared = false;
    const index = openRunIndex(
      {
        ...log,
        async *readAll(options) {
          yield* log.readAll(options);
          if (options?.after === undefined || cleared) return;
          cleared = true;
          const other = new DatabaseSync(path);
          for (const table of ["meta", "workflows", "counts", "runs", "waits", "hooks"])
            other.exec(`DELETE FROM ${table}`);
          other.close();
        },
      },
      { path },
    );
    await index.catchUp();
    await put(log, "c", created());
    await index.catchUp();
    expect(cleared).toBe(true);
    expect((await index.list({}, { catchUp: false })).runs.map(({ runId }) => runId).sort()).toEqual([
      "a",
      "b",
      "c",
    ]);
    await index.close();
  });

  it("of another version is not filled by a process that had it open before", async () => {
    const [log, path] = [await logOf("a"), temporaryPath()];
    const index = openRunIndex(log, { path });
    await index.catchUp();
    const newer = new DatabaseSync(path);
    newer.exec("PRAGMA user_version = 999");
    newer.close();
    await put(log, "b", created());
    const refused = await index.list().catch((error: unknown) => error);
    expect(StoreError.is(refused) && refused.message).toMatch(/version/);
    await index.close();
  });

  it("C3 made from another log is filled anew", async () => {
    const path = temporaryPath();
    expect(await idsIn(await logOf("a", "b", "c"), path)).toEqual(["a", "b", "c"]);
    expect(await idsIn(await logOf("x", "y"), path)).toEqual(["x", "y"]);
    expect(await idsIn(createMemoryLog(), path)).toEqual([]);
  });

  it("C3 made from a log that has since lost its end is filled anew, also when the log has grown again", async () => {
    const [log, path] = [await logOf("a", "b", "c"), temporaryPath()];
    expect(await idsIn(log, path)).toEqual(["a", "b", "c"]);
    const restored = async (events: number, ...more: string[]): Promise<EventLog> => {
      const copy = createMemoryLog();
      for await (const { stream, id, type, data, metadata } of log.readAll({ max: events }))
        await copy.append(stream, "any", [{ id, type, data, metadata }])();
      for (const runId of more) await put(copy, runId, created());
      return copy;
    };
    expect(await idsIn(await restored(2), path)).toEqual(["a"]);
    expect(await idsIn(log, path)).toEqual(["a", "b", "c"]);
    expect(await idsIn(await restored(4, "n1", "n2", "n3", "n4"), path)).toEqual([
      "a",
      "b",
      "n1",
      "n2",
      "n3",
      "n4",
    ]);
  });

  it("C3 that was opened on an empty log notices when the file belongs to another", async () => {
    const [empty, path] = [createMemoryLog(), temporaryPath()];
    const waiting = openRunIndex(empty, { path });
    expect(await waiting.list()).toEqual({ runs: [] });
    expect(await idsIn(await logOf("a"), path)).toEqual(["a"]);
    await put(empty, "mine", created());
    expect((await waiting.list()).runs.map(({ runId }) => runId)).toEqual(["mine"]);
    await waiting.close();
  });

  it("is not filled from two logs at once: the one that lost it is told", async () => {
    const [mine, theirs, path] = [await logOf("a"), await logOf("x"), temporaryPath()];
    const index = openRunIndex(mine, { path });
    await index.catchUp();
    expect(await idsIn(theirs, path)).toEqual(["x"]);
    await put(mine, "b", created());
    const refused = await index.list().catch((error: unknown) => error);
    expect(StoreError.is(refused) && refused.message).toMatch(/another log/);
    expect(await idsIn(theirs, path)).toEqual(["x"]);
    await index.close();
  });
});

describe("X1 an index of ours that cannot be used is made again from the log:", () => {
  const spoiled = async (spoil: (path: string) => void): Promise<void> => {
    const log = await logOf(...Array.from({ length: 300 }, (_, i) => `r${String(i).padStart(4, "0")}`));
    const path = temporaryPath();
    const before = await idsIn(log, path);
    spoil(path);
    expect(await idsIn(log, path)).toEqual(before);
    expect(before.length).toBe(300);
  };
  const inFile = (path: string, sql: string): void => {
    const database = new DatabaseSync(path);
    database.exec(sql);
    database.close();
  };

  it("one of a newer version", () =>
    spoiled((path) => inFile(path, "PRAGMA user_version = 999; CREATE TABLE later (x)")));
  it("one of an older version", () =>
    spoiled((path) => inFile(path, "PRAGMA user_version = 0; DROP TABLE runs")));
  it("a file cut short", () =>
    spoiled((path) => truncateSync(path, Math.floor(statSync(path).size / 2) + 100)));
  it("a file cut to its first page", () => spoiled((path) => truncateSync(path, 4_096)));
  it("a file whose pages were overwritten", () =>
    spoiled((path) => {
      const bytes = readFileSync(path);
      bytes.fill(0xa5, 4_096);
      writeFileSync(path, bytes);
    }));
  it("a file whose first page was overwritten behind the header", () =>
    spoiled((path) => {
      const bytes = readFileSync(path);
      bytes.fill(0xa5, 100, 4_096);
      writeFileSync(path, bytes);
    }));
  it("an empty file", () => spoiled((path) => writeFileSync(path, "")));

  it("R3 one that is damaged while it is open", async () => {
    const log = await logOf(...Array.from({ length: 500 }, (_, i) => `r${i}`));
    const path = temporaryPath();
    await idsIn(log, path);
    const index = openRunIndex(log, { path });
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 4_096 * 2);
    writeFileSync(path, bytes);
    await put(log, "more", created());
    expect((await index.list({ limit: 1_000 })).runs.length).toBe(501);
    expect(await index.count()).toBe(501);
    expect((await index.due({ until: 1e9, limit: 1_000 })).length).toBe(500);
    await index.close();
  });
});

describe("X2 a file that is not an index", () => {
  it("is refused and left as it is: text", () => {
    const path = temporaryPath("notes.txt");
    writeFileSync(path, "Dear diary, today nothing was lost. ".repeat(100));
    const before = readFileSync(path, "utf8");
    const refusal = refusalOf(() => openRunIndex(createMemoryLog(), { path }));
    expect(refusal.error._tag).toBe("Corrupt");
    expect(refusal.message).toContain(path);
    expect(readFileSync(path, "utf8")).toBe(before);
  });

  it("is refused and left as it is: somebody's database", () => {
    const path = temporaryPath("theirs.db");
    const theirs = new DatabaseSync(path);
    theirs.exec("CREATE TABLE accounts (id); INSERT INTO accounts VALUES (1)");
    theirs.close();
    const before = readFileSync(path);
    const refusal = refusalOf(() => openRunIndex(createMemoryLog(), { path }));
    expect(refusal.error._tag).toBe("Corrupt");
    expect(refusal.message).toContain("is not a run index");
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("is refused: a directory, a path in a directory that is not there", () => {
    expect(refusalOf(() => openRunIndex(createMemoryLog(), { path: temporaryPath("") })).error._tag).toBe(
      "Unavailable",
    );
    expect(
      refusalOf(() => openRunIndex(createMemoryLog(), { path: temporaryPath("no/such/index.db") })).error
        ._tag,
    ).toBe("Unavailable");
  });
});

describe("a run that an older version could not read", () => {
  it("is read again when the index is opened, and its waits come back", async () => {
    const path = temporaryPath();
    const log = createMemoryLog();
    await put(log, "before", created("orders", 1));
    await put(log, "r", created("orders", 2), started(), ofNewerVersion(asleep("sleep!x#0", 70)));
    await put(log, "after", created("orders", 3), asleep("sleep!x#0", 70));
    const old = openRunIndex(log, { path });
    expect((await old.problems()).map(({ runId }) => runId)).toEqual(["r"]);
    await old.close();
    // What the newer version makes of the same log: every event carries a version that it knows.
    const known = (event: RecordedEvent): RecordedEvent => ({ ...event, metadata: { v: 1 } });
    const upgraded: EventLog = {
      ...log,
      async *read(stream, options) {
        for await (const event of log.read(stream, options)) yield known(event);
      },
    };
    const index = openRunIndex(upgraded, { path });
    expect(await index.problems()).toEqual([]);
    expect(await index.get("r")).toMatchObject({ status: "running", revision: 2 });
    expect((await index.due({ until: 100 })).map(({ runId }) => runId)).toEqual(["r", "after"]);
    expect(await index.count({ workflow: "orders" })).toBe(3);
    await index.close();
  });
});
