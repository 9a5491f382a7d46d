import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished, type TestContext } from "vitest";
import { StoreError } from "../../src/events/store-error.ts";
import { checkSqliteLog, openSqliteLog } from "../../src/store-sqlite/index.ts";
import { collect, event, put, testFolder } from "./kit.ts";

const { folder, path, open, start } = testFolder();

const refusal = (file: string): StoreError => {
  try {
    openSqliteLog(file);
  } catch (error) {
    if (StoreError.is(error)) return error;
    throw error;
  }
  throw new Error(`${file} was opened`);
};

/** Opening is refused with this tag and these words, the message names the file, and no byte beside or in it changes. */
const isRefused = (file: string, tag: string, words: string): void => {
  const [files, bytes] = [readdirSync(folder), readFileSync(file)];
  const error = refusal(file);
  expect(error.error._tag).toBe(tag);
  expect(error.message).toContain(file);
  expect(error.message).toContain(words);
  expect(readFileSync(file).equals(bytes)).toBe(true);
  expect(readdirSync(folder)).toEqual(files);
  const health = checkSqliteLog(file);
  expect(health.healthy).toBe(false);
  expect(health.problems[0]).toContain(words);
  expect(readFileSync(file).equals(bytes)).toBe(true);
  expect(readdirSync(folder)).toEqual(files);
};

const written = async (events: number): Promise<string> => {
  const file = path();
  const log = openSqliteLog(file);
  for (let n = 0; n < events; n += 1)
    await put(log, `run-${n % 10}`, "any", event("Happened", { n, text: "x".repeat(300) }));
  await log.close();
  return file;
};

describe("a file that is no log of ours is refused and left alone", () => {
  it("a text file", () => {
    const file = path();
    writeFileSync(file, "Dear diary, ".repeat(100));
    isRefused(file, "Corrupt", "is not a Runstream log");
  });

  it("a few bytes", () => {
    const file = path();
    writeFileSync(file, "SQLite format 3\u0000");
    isRefused(file, "Corrupt", "is not a Runstream log");
  });

  it("another program's database, with a write-ahead log or without", () => {
    for (const mode of ["WAL", "DELETE"]) {
      const file = path();
      const db = new DatabaseSync(file);
      db.exec(
        `PRAGMA journal_mode = ${mode}; CREATE TABLE customers (name TEXT); INSERT INTO customers VALUES ('Ada')`,
      );
      db.close();
      isRefused(file, "Corrupt", "another program");
    }
  });

  it("a log of a newer Runstream", async () => {
    const file = await written(3);
    const db = new DatabaseSync(file);
    db.exec("PRAGMA user_version = 7; PRAGMA wal_checkpoint(TRUNCATE)");
    db.close();
    isRefused(file, "Corrupt", "upgrade Runstream");
  });

  it("a folder, and a file in a folder that is not there", () => {
    const place = join(folder, "a-folder");
    mkdirSync(place);
    expect(refusal(place).error).toMatchObject({
      _tag: "Unavailable",
      reason: expect.stringContaining(`${place}: is not a regular file`),
    });
    const lost = join(folder, "nowhere", "log.db");
    expect(refusal(lost).error).toMatchObject({
      _tag: "Unavailable",
      reason: expect.stringContaining("create it first"),
    });
    expect(checkSqliteLog(join(folder, "none.db")).problems[0]).toContain("there is no log here");
    expect(readdirSync(folder)).not.toContain("none.db");
  });
});

describe("a damaged log", () => {
  it("with a broken beginning is refused and left alone", async () => {
    const file = await written(30);
    const bytes = readFileSync(file);
    bytes.fill(0, 0, 16);
    writeFileSync(file, bytes);
    isRefused(file, "Corrupt", "beginning is damaged");
  });

  it("R2 whose pages are overwritten says Corrupt to readers, and the doctor says where", async () => {
    const file = await written(400);
    const bytes = readFileSync(file);
    bytes.fill(0xa5, 4096 * 10, bytes.length);
    writeFileSync(file, bytes);
    const log = open(file);
    await expect(collect(log.readAll())).rejects.toMatchObject({
      name: "StoreError",
      error: { _tag: "Corrupt", reason: expect.stringContaining(file) },
    });
    await log.close();
    const health = checkSqliteLog(file);
    expect(health.healthy).toBe(false);
    expect(health.problems.join()).toMatch(/malformed|SQLite finds/);
  });

  it("whose payload is no JSON names the position", async () => {
    const file = await written(20);
    const db = new DatabaseSync(file);
    db.exec(`UPDATE events SET data = '{"cut' WHERE position = 7`);
    db.close();
    const log = open(file);
    await expect(collect(log.readAll())).rejects.toMatchObject({
      error: { _tag: "Corrupt", reason: expect.stringContaining("position 7") },
    });
    expect(await collect(log.read("run-0"))).toHaveLength(2);
    expect(await put(log, "run-0", 1, event())).toMatchObject({ revision: 2 });
    await log.close();
    expect(checkSqliteLog(file)).toMatchObject({
      healthy: false,
      problems: [expect.stringContaining("position 7")],
      payloads: { checked: 21, complete: true },
    });
  });

  it("with a missing event is found by the doctor", async () => {
    const file = await written(40);
    const db = new DatabaseSync(file);
    db.exec("DELETE FROM events WHERE position = 15");
    db.close();
    const { healthy, problems } = checkSqliteLog(file);
    expect(healthy).toBe(false);
    expect(problems).toEqual(["Stream run-4 has a gap: 3 events, but its last revision is 3"]);
  });
});

describe("a disk that does not take what is written", () => {
  const answerOf = async (it: ReturnType<typeof start>) => JSON.parse(String((await it.lines.next()).value));

  /** A file system of 4 MB, where this machine lets us have one. */
  const smallDisk = (context: TestContext): string => {
    const place = mkdtempSync(join(tmpdir(), "runstream-small-"));
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", place]).status === 0;
    onTestFinished(() => {
      if (mounted) spawnSync("umount", [place]);
      rmSync(place, { recursive: true, force: true });
    });
    if (!mounted) context.skip("NOT TESTED: a full disk needs the right to mount one");
    return place;
  };

  it("when full answers Unavailable, keeps all that was acknowledged, and takes appends again when there is room", async (context) => {
    const place = smallDisk(context);
    const ballast = join(place, "ballast");
    writeFileSync(ballast, Buffer.alloc(1_000_000));
    const file = join(place, "log.db");
    const log = open(file);
    const text = "x".repeat(20_000);
    let acknowledged = 0;
    let refused: unknown;
    while (refused === undefined) {
      const answer = await put(log, "run-1", "any", event("Happened", { text }));
      if ("revision" in answer) acknowledged += 1;
      else refused = answer;
    }
    expect(refused).toMatchObject({
      _tag: "Unavailable",
      reason: expect.stringContaining(`${file}: the disk is full`),
    });
    expect(acknowledged).toBeGreaterThan(40);
    expect(await collect(log.read("run-1"))).toHaveLength(acknowledged);
    expect(await put(log, "run-1", "any", event("Happened", { text }))).toMatchObject({
      _tag: "Unavailable",
    });
    rmSync(ballast);
    expect(await put(log, "run-1", acknowledged - 1, event("Happened", { text }))).toMatchObject({
      revision: acknowledged,
    });
    await log.close();
    expect(checkSqliteLog(file)).toMatchObject({ healthy: true, events: acknowledged + 1 });
  });

  it("when read-only answers Unavailable at opening, and the log can still be examined", async (context) => {
    const place = smallDisk(context);
    const file = join(place, "log.db");
    const log = openSqliteLog(file);
    await put(log, "run-1", "none", event());
    await log.close();
    spawnSync("mount", ["-o", "remount,ro", place]);
    expect(refusal(file).error).toMatchObject({ _tag: "Unavailable", reason: expect.stringContaining(file) });
    expect(refusal(file).message).toContain("make it and its folder writable");
    expect(checkSqliteLog(file)).toMatchObject({ healthy: true, events: 1 });
  });

  it("when it fails in the middle of a write answers every append, and keeps what was acknowledged", async (context) => {
    if (process.platform === "win32") context.skip("NOT TESTED: no limit on file sizes here");
    const file = path();
    const limited = start("writer-process.ts", ["fill", file], { shell: "trap '' XFSZ; ulimit -f 4000" });
    const { acknowledged, first, again } = await answerOf(limited);
    expect(first).toMatchObject({ _tag: "Unavailable", reason: expect.stringContaining(file) });
    await limited.gone;
    expect(acknowledged).toBeGreaterThan(20);
    const kept = acknowledged + (again._tag === "Right" ? 1 : 0);
    expect(await collect(open(file).read("run-1"))).toHaveLength(kept);
    expect(checkSqliteLog(file).healthy).toBe(true);
  });

  it("a file this user may not write answers Unavailable at opening", async (context) => {
    if (process.getuid?.() !== 0) context.skip("NOT TESTED: needs root to become another user");
    const file = await written(2);
    chmodSync(folder, 0o755);
    chmodSync(file, 0o644);
    expect(await answerOf(start("writer-process.ts", ["open", file], { uid: 65_534 }))).toMatchObject({
      name: "StoreError",
      error: { _tag: "Unavailable", reason: expect.stringContaining(file) },
    });
    chmodSync(file, 0o600);
    expect(await answerOf(start("writer-process.ts", ["open", file], { uid: 65_534 }))).toMatchObject({
      name: "StoreError",
      error: { _tag: "Unavailable", reason: expect.stringContaining("cannot be read") },
    });
  });
});

describe("opening", () => {
  it("S1 O2 makes one whole file when several processes open it at once", async () => {
    const file = path();
    const answers = await Promise.all(
      Array.from({ length: 4 }, async () =>
        JSON.parse(String((await start("writer-process.ts", ["open", file]).lines.next()).value)),
      ),
    );
    expect(answers.map((it) => it.right.revision).sort()).toEqual([0, 1, 2, 3]);
    expect(readFileSync(file).toString("latin1", 68, 72)).toBe("Runs");

    expect(checkSqliteLog(file)).toMatchObject({ healthy: true, schema: 1, events: 4, streams: 1 });
  });

  it.each(["removed", "replaced"])(
    "a file that is %s while it is open takes no more events, and says so",
    async (how) => {
      const file = path();
      const log = open(file);
      expect(await put(log, "a", "none", event())).toMatchObject({ revision: 0 });
      rmSync(file);
      if (how === "replaced") writeFileSync(file, "");
      await expect
        .poll(async () => {
          const answer = await put(log, "a", "any", event());
          return "reason" in answer ? answer.reason : "written";
        })
        .toContain("removed or replaced while it was open");
    },
  );

  it("an empty file is a new log", async () => {
    const file = path();
    writeFileSync(file, "");
    expect(await put(open(file), "run-1", "none", event())).toEqual({ revision: 0, position: "1" });
  });

  it("the doctor reads a log in use, its write-ahead log included, and changes neither", async () => {
    const file = path();
    const log = open(file);
    await put(log, "run-1", "none", event());
    const bytes = [readFileSync(file), readFileSync(`${file}-wal`)];
    expect(checkSqliteLog(file)).toMatchObject({ healthy: true, events: 1, walBytes: bytes[1]!.length });
    expect([readFileSync(file), readFileSync(`${file}-wal`)]).toEqual(bytes);
  });
});
