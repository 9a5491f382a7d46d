/** The examples of threads do what their heads say. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { tripsOf } from "../../examples/compensation.ts";
import { refundsOn } from "../../examples/refund.ts";
import { memoryCheckpointer } from "../../src/threads/index.ts";

const folder = mkdtempSync(join(tmpdir(), "runstream-examples-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  [true, { refunded: 25 }, ["load", "refund"]],
  [false, { refunded: 0 }, ["load"]],
])("refund: the answer %j decides, in another worker", async (answer, output, steps) => {
  const checkpointer = memoryCheckpointer();
  const waiting = await refundsOn(checkpointer).invoke({ orderId: "o-1" }, { threadId: "t" });
  expect(waiting).toMatchObject({ status: "awaiting_input", interrupt: { reason: "Refund 25 for o-1?" } });
  const done = await refundsOn(checkpointer).resumeWith("t", answer);
  expect(done.output).toEqual(output);
  expect(Object.keys(done.state.steps)).toEqual(steps);
});

test("compensation: a hotel that cannot be had cancels the flight, once", async () => {
  const calls: string[] = [];
  const trips = tripsOf({
    bookFlight: async (to) => `flight to ${to}`,
    cancelFlight: async (flight) => {
      calls.push(`cancel ${flight}`);
    },
    bookHotel: async () => {
      calls.push("hotel");
      throw new Error("no rooms");
    },
  });
  const { output, state, threadId } = await trips.invoke({ city: "Oslo" });
  expect(output).toBe("no trip: Error: no rooms (3 attempts)");
  expect(state.steps.hotel?.recovered).toEqual({
    error: { name: "Error", message: "no rooms" },
    attempts: 3,
  });
  for await (const _ of trips.continue(threadId));
  expect(calls).toEqual(["hotel", "hotel", "hotel", "cancel flight to Oslo"]);
});

const run = (file: string, onLine: (line: string, child: ChildProcess) => void = () => {}) =>
  new Promise<{ readonly code: number | null; readonly lines: string[] }>((done, fail) => {
    const program = resolve(import.meta.dirname, "../../examples/drain.ts");
    const child = spawn(process.execPath, [program, file, "6"], { stdio: ["ignore", "pipe", "inherit"] });
    const lines: string[] = [];
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      const parts = text.split("\n");
      text = parts.pop() ?? "";
      for (const line of parts) {
        lines.push(line);
        onLine(line, child);
      }
    });
    child.on("error", fail);
    child.on("close", (code) => done({ code, lines }));
  });

test("drain: SIGTERM stops the import between two batches, and another process carries it on", async () => {
  const file = join(folder, "threads.db");
  const first = await run(file, (line, child) => line === "batch 2" && child.kill("SIGTERM"));
  expect(first.code).toBe(75);
  expect(first.lines.at(-1)).toMatch(/^Thread "import-1" was drained at checkpoint \d+ \(SIGTERM\)/);
  const second = await run(file);
  expect(second.code).toBe(0);
  expect(second.lines.at(-1)).toBe("imported 600 rows");
  const batches = [...first.lines.slice(0, -1), ...second.lines.slice(0, -1)];
  expect(batches).toEqual([1, 2, 3, 4, 5, 6].map((n) => `batch ${n}`));
}, 60_000);
