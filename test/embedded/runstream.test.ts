/** A Runstream as a whole: what it leaves behind, what it refuses, and how it shares a file with other processes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, test } from "vitest";
import { RequestError } from "../../src/embedded/request-error.ts";
import { openRunstream } from "../../src/embedded/runstream.ts";
import { workflow } from "../../src/engine/workflow.ts";
import { StoreError } from "../../src/events/store-error.ts";
import { collect, embedded, STORES, until } from "./kit.ts";
import { workflows } from "./worker-process.ts";

const kit = embedded();
const stopping: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(stopping.splice(0).map((stop) => stop()));
});

/** Files of the test's folder that this process holds open. */
const openFiles = (): string[] =>
  readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const target = readlinkSync(join("/proc/self/fd", fd));
      return target.startsWith(kit.folder) ? [target] : [];
    } catch {
      return [];
    }
  });

const busy = workflow({ run: async (_input, ctx) => ctx.step("one", () => 1) });
const quiet = workflow({
  run: async (_input, ctx) => {
    for (let n = 0; n < 5; n += 1) await ctx.step("work", () => n);
    await ctx.sleep("pause", 10);
  },
});

describe.each(STORES)("a Runstream on %s", (store) => {
  test("after stop no timer, handle or file of it remains, and the process ends by itself", async () => {
    const script = join(import.meta.dirname, "leftovers-process.ts");
    const where = store === "memory" ? "memory" : kit.path();
    const child = spawn(process.execPath, ["--no-warnings", script, where], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.on("data", (text) => {
      said += text;
    });
    const killed = setTimeout(() => child.kill("SIGKILL"), 50_000);
    const [code, signal] = await once(child, "close");
    clearTimeout(killed);
    expect({ code, signal, left: JSON.parse(said) }).toEqual({
      code: 0,
      signal: null,
      left: { timers: [], resources: [], files: [] },
    });
  }, 60_000);

  test("work and stop are idempotent, and stop may come first", async () => {
    const rs = openRunstream({ store: kit.log(store), workflows: { busy } });
    rs.work();
    rs.work();
    await Promise.all([rs.stop(), rs.stop(), rs.stop()]);
    const idle = openRunstream({ store: kit.log(store) });
    await idle.stop();
    expect(() => idle.work()).toThrow(RequestError);
  });

  test("a log that was handed in stays open after stop", async () => {
    const log = kit.log(store);
    const rs = openRunstream({ store: log, workflows: { busy } });
    const runId = await rs.start(busy);
    await rs.stop();
    const other = kit.open({ store: log, workflows: { busy } });
    expect(await other.get(runId)).toMatchObject({ status: "pending" });
  });

  test("a sleep of 0 or less goes on by itself; one of 1,000 years sleeps until it is woken", async () => {
    const nap = workflow({
      run: async ({ ms }: { ms: number }, ctx) => {
        await ctx.sleep("nap", ms);
        return ms;
      },
    });
    const rs = kit.open({ store: kit.log(store), workflows: { nap } });
    rs.work();
    for (const ms of [0, -1, -1e12])
      expect(await rs.result(await rs.start(nap, { ms }))).toMatchObject({ output: ms });
    const years = 1_000 * 365.25 * 86_400_000;
    const runId = await rs.start(nap, { ms: years });
    await until("the sleep", async () => (await rs.index.waits(runId)).length === 1);
    expect((await rs.index.waits(runId))[0]?.wakeAt).toBeGreaterThan(Date.now() + years - 60_000);
    expect((await rs.get(runId))?.status).toBe("running");
    expect(await rs.wakeUp(runId)).toBe(1);
    expect(await rs.result(runId)).toMatchObject({ output: years });
  });

  test("workers go on while the index is rebuilt", async () => {
    const rs = kit.open({ store: kit.log(store), workflows: { quiet } });
    rs.work();
    const runIds = await Promise.all(Array.from({ length: 40 }, () => rs.start(quiet)));
    const outcomes = Promise.all(runIds.map((runId) => rs.result(runId)));
    for (let n = 0; n < 5; n += 1) await rs.index.rebuild();
    expect((await outcomes).map(({ status }) => status)).toEqual(Array(40).fill("completed"));
    expect(await rs.index.count({ status: "completed" })).toBe(40);
  });
});

describe("opening", () => {
  test.each([undefined, null, "", 7, {}])("refuses %j as a store", (store) => {
    expect(() => openRunstream({ store: store as never })).toThrow(/store is .* Give the path/);
  });

  test.each([[], null, { greet: () => 1 }, { greet: undefined }])("refuses %j as workflows", (wrong) => {
    expect(() => openRunstream({ store: ":memory:", workflows: wrong as never })).toThrow(/workflows/);
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("refuses %d walks at once", (concurrency) => {
    const file = kit.path();
    expect(() => openRunstream({ store: file, concurrency })).toThrow(/concurrency is .* whole number/);
    expect(() => openRunstream({ store: file, stepConcurrency: concurrency })).toThrow(/stepConcurrency is/);
    expect(openFiles()).toEqual([]);
  });

  test("an index that cannot be opened leaves no file open", async () => {
    const index = join(kit.folder, "not-an-index");
    writeFileSync(index, "this is a letter, not a database. ".repeat(100));
    const error = (() => {
      try {
        return openRunstream({ store: kit.path(), index });
      } catch (caught) {
        return caught;
      }
    })();
    expect(StoreError.is(error)).toBe(true);
    await until("the files to be closed", () => openFiles().length === 0, 1_000);
  });
});

describe("processes that share a file", { timeout: 60_000 }, () => {
  test("one that opens the file while another is making it waits for that", async () => {
    const file = kit.path();
    const maker = `
      const { DatabaseSync } = require("node:sqlite");
      const db = new DatabaseSync(process.argv[1]);
      db.exec("BEGIN EXCLUSIVE; CREATE TABLE streams (id INTEGER)");
      process.stdout.write("held");
      setTimeout(() => { db.exec("ROLLBACK"); db.close(); }, 400);`;
    const child = spawn(process.execPath, ["--no-warnings", "-e", maker, file], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const gone = once(child, "exit");
    await once(child.stdout, "data");
    const rs = kit.open({ store: file, workflows: { busy } });
    expect(await rs.get(await rs.start(busy))).toMatchObject({ status: "pending" });
    await gone;
  });

  const worker = async (file: string) => {
    const script = join(import.meta.dirname, "worker-process.ts");
    const child = spawn(process.execPath, ["--no-warnings", script, file], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const said: string[] = [];
    const heard = createInterface({ input: child.stdout }).on("line", (line) => said.push(line));
    const gone = once(child, "exit");
    stopping.push(async () => {
      child.kill("SIGKILL");
      await gone;
      heard.close();
    });
    await until("the worker", () => said.includes("ready"), 45_000);
    return { child, said, gone };
  };

  test("a signal, a wake and a cancel reach runs that another process parked, within 250 ms at the median", async () => {
    const file = kit.path();
    const other = await worker(file);
    const rs = kit.open({ store: file, workflows });
    const waits: number[] = [];
    const ends: number[] = [];
    for (let n = 0; n < 15; n += 1) {
      const runId = await rs.start("waiting");
      await until("the first hook", () => rs.signal(`first-${runId}`, n));
      const at = performance.now();
      await until("the second hook", async () => (await rs.signal(`second-${runId}`, n)) === true);
      waits.push(performance.now() - at);
      const signalled = performance.now();
      expect(await rs.result(runId)).toMatchObject({ output: { first: n, second: n } });
      ends.push(performance.now() - signalled);
      expect(other.said).toContain(`woken ${runId}`);
    }
    const sleeper = await rs.start("sleeping");
    await until("the sleep", async () => (await rs.index.waits(sleeper)).length === 1);
    expect(await rs.wakeUp(sleeper)).toBe(1);
    expect(await rs.result(sleeper)).toMatchObject({ output: { pid: other.child.pid } });
    const cancelled = await rs.start("sleeping");
    await until("the sleep", async () => (await rs.index.waits(cancelled)).length === 1);
    expect(await rs.cancel(cancelled)).toBe(true);
    expect(await rs.result(cancelled)).toMatchObject({ status: "cancelled" });
    const middle = (times: number[]): number => [...times].sort((a, b) => a - b)[times.length >> 1]!;
    console.info(
      `signal from another process: goes on after ${middle(waits).toFixed(1)} ms, result ${middle(ends).toFixed(1)} ms`,
    );
    expect(middle(waits)).toBeLessThan(250);
  });

  test("they share the runs, and none is walked by both at once", async () => {
    const file = kit.path();
    const workers = await Promise.all([worker(file), worker(file)]);
    const rs = kit.open({ store: file, workflows });
    const runIds = await Promise.all(Array.from({ length: 120 }, () => rs.start("working")));
    await Promise.all(runIds.map((runId) => rs.result(runId)));
    const bodies = workers.flatMap(({ said }) => said.filter((line) => line.startsWith("body")));
    expect(bodies).toHaveLength(600);
    for (const { said } of workers)
      expect(said.filter((line) => line.startsWith("body")).length).toBeGreaterThan(30);
    for (const runId of runIds) {
      const holders = new Set<string>();
      for (const { event } of await collect(rs.history(runId)))
        if (event.type === "AttemptClaimed") holders.add(`${event.data.key} ${event.data.holder}`);
      expect(holders.size).toBe(6);
    }
  });

  test("a worker that is killed or stopped loses its runs to another one", async () => {
    const file = kit.path();
    const first = await worker(file);
    const rs = kit.open({ store: file, workflows });
    const runIds = await Promise.all(Array.from({ length: 10 }, () => rs.start("waiting")));
    for (const runId of runIds) await until("the first hook", () => rs.signal(`first-${runId}`, 1));
    first.child.kill("SIGKILL");
    await first.gone;
    for (const runId of runIds) await rs.signal(`second-${runId}`, 2);
    const second = await worker(file);
    for (const runId of runIds.slice(0, 5))
      await until(
        "the second hook",
        async () => (await rs.get(runId))?.status === "completed" || (await rs.signal(`second-${runId}`, 2)),
      );
    second.child.stdin.end();
    await second.gone;
    expect(second.said.at(-1)).toBe("stopped");
    rs.work();
    for (const runId of runIds) {
      await until("the end", async () => {
        await rs.signal(`second-${runId}`, 2);
        return (await rs.get(runId))?.status === "completed";
      });
    }
    for (const runId of runIds)
      expect(await rs.result(runId)).toMatchObject({ output: { first: 1, second: 2 } });
  });
});
