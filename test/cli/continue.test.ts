/**
 * `runstream continue`: threads that stopped before their end are carried on in a process of its own, and those that are over, wait for
 * an answer or are in other hands are refused.
 */
import { readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { type Ended, folder, launch, lines, type Running, runstream, write } from "./command-line.ts";
import { recordedIn } from "./recorded-thread.ts";

const source = (path: string): string => JSON.stringify(resolve(import.meta.dirname, "../../src", path));

const cwd = folder();
const store = join(cwd, "runstream.db");

/** Every body writes down that it ran; `pack` waits for a file, and says that it does. */
write(
  cwd,
  "orders.ts",
  `
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { workflow } from ${source("threads/index.ts")};

const ran = (what: string, id: string) => appendFileSync(\`ran-\${id}\`, what + "\\n");

export const order = workflow(
  async ({ id }: { id: string }, { step, interrupt, signal }) => {
    await step("load", () => ran("load", id));
    await step("pack", async () => {
      ran("pack", id);
      console.error("packing");
      while (!existsSync(\`packed-\${id}\`) && !signal.aborted) await pause(5);
    });
    if (id.startsWith("ask")) interrupt({ reason: "Send it?" });
    if (existsSync(\`lost-\${id}\`)) throw new TypeError("it is lost");
    return { sent: id };
  },
  { name: "orders" },
);
`,
);
/** A program of the user's that begins a thread. */
const program = write(
  cwd,
  "begin.ts",
  `
import { openSqliteLog } from ${source("store-sqlite/index.ts")};
import { logCheckpointer } from ${source("threads/index.ts")};
import { order } from "./orders.ts";

const id = process.argv[2] as string;
const on = order[Symbol.for("runstream.threads.onCheckpointer/1")](logCheckpointer(openSqliteLog("runstream.db")));
await on.invoke({ id }, { threadId: id });
`,
);

const put = (name: string): string => write(cwd, name, "");

/** Begins a thread whose step waits, in a program of its own. */
const begun = async (id: string): Promise<Running> => {
  const running = launch([id], { cwd, program });
  await running.says("packing");
  return running;
};

/** Begins a thread whose program is killed in the middle of a step. */
const abandoned = async (id: string): Promise<void> => {
  const { child, ended } = await begun(id);
  child.kill("SIGKILL");
  await ended;
};

const recorded = recordedIn(store);

const bodies = (id: string): string[] =>
  readFileSync(join(cwd, `ran-${id}`), "utf8")
    .trim()
    .split("\n");

const module = ["--module", "orders.ts"];
const carryOn = (thread: string, ...more: string[]): Promise<Ended> =>
  runstream(["continue", thread, ...module, ...more], { cwd });

describe.concurrent("continue", () => {
  test("carries on a thread whose process was killed in the middle of a step", async () => {
    await abandoned("killed-1");
    expect(await recorded("killed-1")).toMatchObject({ status: "running", step: 1 });
    put("packed-killed-1");
    const { code, stdout, stderr } = await carryOn("killed-1");
    expect({ code, stdout: JSON.parse(stdout) }).toEqual({ code: 0, stdout: { sent: "killed-1" } });
    expect(stderr).toMatch(/^Thread killed-1 was running when something was recorded last, at \d{4}-.*\n/);
    expect(stderr).toContain('✓ Step "pack" succeeded');
    expect(stderr).not.toContain('Step "load"');
    expect(bodies("killed-1")).toEqual(["load", "pack", "pack"]);
    expect(await recorded("killed-1")).toMatchObject({ status: "completed", step: 3 });
  });

  test("prints every event as a line with --json", async () => {
    await abandoned("killed-2");
    put("packed-killed-2");
    const { code, stdout } = await carryOn("killed-2", "--json");
    expect(code).toBe(0);
    expect(lines(stdout)).toMatchObject([
      { runId: "killed-2", revision: 2, type: "ThreadContinued" },
      { revision: 3, type: "ThreadStepSettled", data: { key: "pack" } },
      { revision: 4, type: "ThreadCompleted", data: { output: { sent: "killed-2" } } },
    ]);
  });

  test("carries on a thread that failed, and ends with 1 where it fails again", async () => {
    put("packed-failed");
    put("lost-failed");
    expect((await launch(["failed"], { cwd, program }).ended).code).toBe(1);
    const again = await carryOn("failed");
    expect({ code: again.code, stdout: again.stdout }).toEqual({ code: 1, stdout: "" });
    expect(again.stderr).toContain("✗ Thread failed: it is lost");
    expect(again.stderr).not.toContain("was running");
    rmSync(join(cwd, "lost-failed"));
    expect((await carryOn("failed")).code).toBe(0);
    expect(bodies("failed")).toEqual(["load", "pack"]);
  });

  test("ends as interrupted on Ctrl-C, which is recorded, and goes on from there", async () => {
    await abandoned("stopped");
    const running = launch(["continue", "stopped", ...module], { cwd });
    await running.says("packing");
    running.child.kill("SIGINT");
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toContain(
      "Interrupted, which is recorded. It goes on with runstream continue stopped --module orders.ts",
    );
    expect((await recorded("stopped"))?.status).toBe("interrupted");
    put("packed-stopped");
    expect((await carryOn("stopped")).code).toBe(0);
  });

  test("ends with 4 where the thread asks, and then leaves it to resume", async () => {
    await abandoned("ask-1");
    put("packed-ask-1");
    const { code, stderr } = await carryOn("ask-1");
    expect(code).toBe(4);
    expect(stderr).toContain("It asks. See runstream state ask-1");
    const refused = await carryOn("ask-1");
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 1, stdout: "" });
    expect(refused.stderr).toContain(
      "Thread ask-1 waits for an answer, which runstream resume ask-1 gives it. Nothing was recorded. It asks:\n  orders:interrupt:0: Send it?",
    );
    expect(await recorded("ask-1")).toMatchObject({ status: "awaiting_input", step: 3 });
  });

  test("refuses a thread that is over", async () => {
    put("packed-over");
    await launch(["over"], { cwd, program }).ended;
    const { code, stdout, stderr } = await carryOn("over");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("Thread over is completed, and there is nothing to continue.");
    expect(await recorded("over")).toMatchObject({ step: 3 });
  });

  test("stops where another process carried the thread on meanwhile, and records nothing over it", async () => {
    const living = await begun("held");
    const running = launch(["continue", "held", ...module], { cwd });
    await running.says("packing");
    // The one that began it is let to its end while the command is stopped.
    running.child.kill("SIGSTOP");
    put("packed-held");
    expect((await living.ended).code).toBe(0);
    const before = await recorded("held");
    running.child.kill("SIGCONT");
    const { code, stdout, stderr } = await running.ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("Thread held is in the hands of another process");
    expect(stderr).not.toMatch(/^ +at /m);
    expect(await recorded("held")).toEqual(before);
  });

  test("refuses a thread that is not there, and a module without its workflow", async () => {
    const missing = await carryOn("nobody");
    expect({ code: missing.code, stdout: missing.stdout }).toEqual({ code: 1, stdout: "" });
    expect(missing.stderr).toContain('There is no run "nobody" in this store.');
    await abandoned("here");
    write(cwd, "none.ts", "export const answer = 42;\n");
    const nothing = await runstream(["continue", "here", "--module", "none.ts"], { cwd });
    expect(nothing.code).toBe(2);
    expect(nothing.stderr).toContain("none.ts exports no workflow of threads.");
    const without = await runstream(["continue", "here"], { cwd });
    expect(without.code).toBe(2);
    expect(without.stderr).toContain("required option '-m, --module <file>'");
    expect(await recorded("here")).toMatchObject({ status: "running", step: 1 });
  });
});
