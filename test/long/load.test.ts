/** Load: runs at the limit of their length, tens of thousands of them, thousands that wait; and nothing left behind by any. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { checkSqliteLog } from "../../src/store-sqlite/index.ts";

const folder = mkdtempSync(join(tmpdir(), "runstream-load-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Left {
  readonly walking: number;
  readonly totalMs: number;
  readonly heapLeft: number;
  readonly files: string[];
  readonly resources: string[];
}

/** Runs one load in a process of its own, which must end by itself; checks what it left, and answers what it said. */
const run = async <T>(load: string): Promise<T & Left> => {
  const script = join(import.meta.dirname, "load-process.ts");
  const child = spawn(process.execPath, ["--no-warnings", "--expose-gc", script, load, folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.on("data", (text) => {
    said += text;
  });
  const killed = setTimeout(() => child.kill("SIGKILL"), 150_000);
  const how = await once(child, "close");
  clearTimeout(killed);
  expect(how).toEqual([0, null]);
  const answer = JSON.parse(said) as T & Left;
  console.info(`load: ${load}: ${said.trim()}`);
  expect([answer.walking, answer.files, answer.resources]).toEqual([0, [], []]);
  // What V8 keeps of compiled code and of the classes once used: not of the runs.
  expect(answer.heapLeft).toBeLessThan(12);
  const health = checkSqliteLog(join(folder, `${load}.db`));
  expect(health.problems).toEqual([]);
  expect(health.groups).toMatchObject([{ consumers: 0, inHand: 0, waiting: 0, parked: 0 }]);
  return answer;
};

test("9,900 steps one after the other, the last hundred no slower than three times the first", async () => {
  const { output } = await run<{ output: { sum: number; first: number; last: number } }>("sequential");
  expect(output.sum).toBe(9_900);
  expect(output.last).toBeLessThan(3 * output.first + 100);
});

test("9,900 steps side by side", async () => {
  const { output } = await run<{ output: { sum: number } }>("parallel");
  expect(output.sum).toBe((9_900 * 9_899) / 2);
});

test("20,000 short runs leave the heap flat", async () => {
  const { before, middle, after } = await run<{ before: number; middle: number; after: number }>("short");
  expect(after - before).toBeLessThan(6);
  expect(after - middle).toBeLessThan(4);
});

test("2,000 runs parked on hooks all answer their own signal", async () => {
  const said = await run<{ open: number; accepted: number; right: number; again: boolean }>("parked");
  expect(said).toMatchObject({ open: 2_000, accepted: 2_000, right: 2_000, again: false });
});

test("2,000 sleepers of one instant wake once each, and none early", async () => {
  const said = await run<{ early: number; elapsed: number }>("sleepers");
  expect(said).toMatchObject({ early: 0, elapsed: 2_000 });
});
