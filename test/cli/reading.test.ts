import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { approval } from "../../examples/approval.ts";
import { greet } from "../../examples/greet.ts";
import { flaky, hopeless } from "../../examples/retry.ts";
import { openRunstream } from "../../src/index.ts";
import { folder, lines, runstream, write } from "./command-line.ts";

const cwd = folder();
const db = join(cwd, "runstream.db");
const WAITING = "order-17-waits";

/** One store for all: six runs that are over, and one that waits. None of the tests writes to it. */
beforeAll(async () => {
  const workflows = { greet, approval, flaky, hopeless };
  const store = openRunstream({ store: db, workflows });
  store.work();
  for (let i = 0; i < 4; i++)
    await store.result(
      await store.start("greet", { name: `Ada ${i}` }, { runId: `greet-${i}`, key: `k/${i % 2}` }),
    );
  await store.result(await store.start("flaky", { failures: 2 }, { runId: "flaky-1" }));
  await store.result(await store.start("hopeless", {}, { runId: "hopeless-1" }));
  const waits = new Promise<void>((resolve) => {
    store.log
      .subscribe({ after: "end", filter: { types: ["SleepScheduled"] } })
      .subscribe((item) => "type" in item && resolve());
  });
  await store.start("approval", { order: "17" }, { runId: WAITING });
  await waits;
  await store.stop();
});

interface Page {
  readonly runs: readonly { readonly runId: string; readonly status: string }[];
  readonly cursor?: string;
}
const page = async (...args: string[]): Promise<Page> => {
  const { code, stdout, stderr } = await runstream(["ls", "--json", ...args], { cwd });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout) as Page;
};
const ids = ({ runs }: Page): string[] => runs.map(({ runId }) => runId);

describe.concurrent("ls", () => {
  test("lists runs for people, newest first", async () => {
    const { code, stdout } = await runstream(["ls"], { cwd });
    const rows = stdout.trimEnd().split("\n");
    expect(code).toBe(0);
    expect(rows).toHaveLength(8);
    expect(rows[0]).toMatch(/^RUN +WORKFLOW +STATUS +CREATED \(UTC\) +KEY$/);
    expect(rows[1]).toMatch(/^order-17-waits +approval +running +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    expect(rows[2]).toMatch(/^hopeless-1 +hopeless +failed /);
  });

  test("says how long the first step was in coming, where it is asked", async () => {
    const { runs } = (await page("--latency", "--workflow", "greet", "--limit", "1")) as {
      readonly runs: readonly { readonly latency?: { readonly timeToFirstStepMs?: number } }[];
    };
    expect(runs[0]?.latency?.timeToFirstStepMs).toBeGreaterThanOrEqual(0);
    expect((await page("--workflow", "greet", "--limit", "1")).runs[0]).not.toHaveProperty("latency");
    const { stdout } = await runstream(["ls", "--latency"], { cwd });
    expect(stdout.split("\n")[0]).toMatch(/KEY +FIRST STEP +NEXT STEPS$/);
  });

  test("filters by workflow, by status (several) and by key", async () => {
    const [ofGreet, ended, ofKey] = await Promise.all([
      page("--workflow", "greet"),
      page("--status", "failed", "--status", "running"),
      page("-w", "greet", "-k", "k/1"),
    ]);
    expect(ids(ofGreet)).toEqual(["greet-3", "greet-2", "greet-1", "greet-0"]);
    expect(ids(ended)).toEqual([WAITING, "hopeless-1"]);
    expect(ids(ofKey)).toEqual(["greet-3", "greet-1"]);
  });

  test("pages through all runs by cursor, each run once", async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const next: Page = await page("--limit", "3", ...(cursor === undefined ? [] : ["--cursor", cursor]));
      seen.push(...ids(next));
      cursor = next.cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual([WAITING, "hopeless-1", "flaky-1", "greet-3", "greet-2", "greet-1", "greet-0"]);
  });

  test("tells people the cursor of the next page, on standard error", async () => {
    const { stdout, stderr } = await runstream(["ls", "--limit", "2"], { cwd });
    expect(stdout.trimEnd().split("\n")).toHaveLength(3);
    expect(stderr).toMatch(/^There are more: --cursor \S+\n$/);
  });

  test("takes the store from --store or --db, then from RUNSTREAM_STORE, then from RUNSTREAM_DB", async () => {
    const elsewhere = folder();
    const nowhere = { RUNSTREAM_STORE: "nowhere.db", RUNSTREAM_DB: "nowhere.db" };
    const all = await Promise.all([
      runstream(["ls", "--json"], { cwd: elsewhere, env: { RUNSTREAM_DB: db } }),
      runstream(["ls", "--json"], { cwd: elsewhere, env: { ...nowhere, RUNSTREAM_STORE: db } }),
      runstream(["--db", db, "ls", "--json"], { cwd: elsewhere, env: nowhere }),
      runstream(["ls", "--json", "--store", db], { cwd: elsewhere, env: nowhere }),
    ]);
    for (const { stdout } of all) expect(ids(JSON.parse(stdout) as Page)).toHaveLength(7);
  });

  test("refuses two stores at once", async () => {
    const { code, stderr } = await runstream(["ls", "--db", "a.db", "--store", "b.db"], { cwd });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "error: --store and --db name two stores. Give one of them.\n",
    });
  });

  test("keeps the run index where --index or RUNSTREAM_INDEX says", async () => {
    const elsewhere = folder();
    const [byOption, byEnv] = await Promise.all([
      runstream(["ls", "--json", "--store", db, "--index", "by-option"], { cwd: elsewhere }),
      runstream(["ls", "--json", "--store", db], { cwd: elsewhere, env: { RUNSTREAM_INDEX: "by-env" } }),
    ]);
    for (const { stdout } of [byOption, byEnv]) expect(ids(JSON.parse(stdout) as Page)).toHaveLength(7);
    expect(existsSync(join(elsewhere, "by-option"))).toBe(true);
    expect(existsSync(join(elsewhere, "by-env"))).toBe(true);
  });
});

describe.concurrent("show", () => {
  test("says what a run waits for and until when", async () => {
    const { code, stdout } = await runstream(["show", WAITING], { cwd });
    expect(code).toBe(0);
    expect(stdout).toMatch(/status +running/);
    expect(stdout).toMatch(
      /Waiting for\n {2}a signal to "approval\/17" until \d{4}-\S+Z \(in 2 d 23 h\), asked .+ ago\n/,
    );
    expect(stdout).toMatch(/first step +\d+ ms after its creation/);
    expect(stdout).toMatch(/step price the order#0 +\d+ ms +ok/);
  });

  test("prints the report and its rows as one JSON object", async () => {
    const { stdout } = await runstream(["show", "flaky-1", "--json"], { cwd });
    const report = JSON.parse(stdout) as Record<string, unknown>;
    expect(report).toMatchObject({
      runId: "flaky-1",
      workflow: "flaky",
      status: "completed",
      steps: { ok: 1, failed: 0, running: 0 },
      retries: 2,
      waitingFor: [],
      begunAgain: [],
    });
    expect(report.rows).toMatchObject([
      { kind: "step", key: "call the flaky thing#0", status: "ok", attempts: 3 },
    ]);
  });

  test("says what a run was given and what it returned, whole with --json", async () => {
    const [text, json, failed, unsettled] = await Promise.all([
      runstream(["show", "greet-0"], { cwd }),
      runstream(["show", "greet-0", "--json"], { cwd }),
      runstream(["show", "hopeless-1", "--json"], { cwd }),
      runstream(["show", WAITING, "--json"], { cwd }),
    ]);
    expect(text.stdout).toMatch(/\n {2}input +\{"name":"Ada 0"\}\n/);
    expect(text.stdout).toMatch(/\n {2}output +\{"greeting":"Hello, Ada 0!","sentAt":"[^"]+"\}\n/);
    expect(JSON.parse(json.stdout)).toMatchObject({
      input: { name: "Ada 0" },
      output: { greeting: "Hello, Ada 0!" },
    });
    expect(JSON.parse(failed.stdout)).toMatchObject({
      input: {},
      error: { message: "the card is blocked" },
    });
    const waiting = JSON.parse(unsettled.stdout) as object;
    expect(waiting).toMatchObject({ input: { order: "17" } });
    expect(Object.keys(waiting)).not.toContain("output");
    expect(Object.keys(waiting)).not.toContain("error");
  });

  test("cuts a long value for people, says so, and gives all of it with --json", async () => {
    const own = folder();
    const value = { text: "x".repeat(500), list: [...Array(50).keys()] };
    const module = write(own, "echo.mjs", "export default { run: async (input) => input };\n");
    await runstream(["run", module, "--id", "long", "-i", "@-"], { cwd: own, input: JSON.stringify(value) });
    const [text, json, history] = await Promise.all([
      runstream(["show", "long"], { cwd: own }),
      runstream(["show", "long", "--json"], { cwd: own }),
      runstream(["history", "long"], { cwd: own }),
    ]);
    expect(text.stdout.split("\n").filter((row) => row.length > 120)).toEqual([]);
    expect(text.stdout.match(/… 35 more lines: --json gives all\n/g)).toHaveLength(2);
    expect(JSON.parse(json.stdout)).toMatchObject({ input: value, output: value });
    expect(history.stdout).toMatch(/input \{"text":"x+…\n/);
    expect(history.stderr).toBe("Long values are cut at …; --json gives all of them.\n");
  });

  test("says why a run failed", async () => {
    const { stdout } = await runstream(["show", "hopeless-1"], { cwd });
    expect(stdout).toMatch(/status +failed: the card is blocked/);
    expect(stdout).toMatch(/step charge the card#0 +\d+ ms +failed: the card is blocked/);
  });
});

describe.concurrent("history and replay", () => {
  const TYPES = [
    "RunCreated",
    "RunStarted",
    "AttemptClaimed",
    "StepSettled",
    "StepSettled",
    "AttemptClaimed",
    "StepSettled",
    "RunCompleted",
  ];

  test("history prints every event as a line for people", async () => {
    const { code, stdout } = await runstream(["history", "greet-0"], { cwd });
    const rows = stdout.trimEnd().split("\n");
    expect(code).toBe(0);
    expect(rows).toHaveLength(TYPES.length);
    expect(rows[0]).toMatch(
      /^ {4}0 {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} {2}● Run of workflow "greet" created under key "k\/0"/,
    );
    expect(rows.at(-1)).toContain("✓ Run completed");
  });

  test("history --json prints every event as a line for programs, with plain payloads", async () => {
    const { stdout } = await runstream(["history", "greet-0", "--json"], { cwd });
    const events = lines(stdout) as { revision: number; type: string; data: Record<string, unknown> }[];
    expect(events.map(({ type }) => type)).toEqual(TYPES);
    expect(events.map(({ revision }) => revision)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(events[0]?.data).toMatchObject({ workflow: "greet", input: { name: "Ada 0" }, key: "k/0" });
    expect(events[3]?.data).toMatchObject({ key: "compose#0", status: "ok", output: "Hello, Ada 0!" });
  });

  test("history --from and --to print a part", async () => {
    const { stdout } = await runstream(["history", "greet-0", "--json", "--from", "2", "--to", "4"], { cwd });
    expect((lines(stdout) as { revision: number }[]).map(({ revision }) => revision)).toEqual([2, 3, 4]);
  });

  test.for([
    [["--from", "99"], "There is no revision 99 to begin with. Run greet-0 has the revisions 0 to 7."],
    [
      ["--from", "5", "--to", "3", "--json"],
      "Nothing lies between --from 5 and --to 3. Run greet-0 has the revisions 0 to 7.",
    ],
  ] as const)("history %j is refused with what there is", async ([range, said], { expect }) => {
    const { code, stdout, stderr } = await runstream(["history", "greet-0", ...range], { cwd });
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: `error: ${said}\n` });
  });

  test("replay shows the run as it was after an event, and runs nothing", async () => {
    const [early, late, text] = await Promise.all([
      runstream(["replay", "greet-0", "--at", "2", "--json"], { cwd }),
      runstream(["replay", "greet-0", "--at", "7", "--json"], { cwd }),
      runstream(["replay", "greet-0", "--at", "5"], { cwd }),
    ]);
    expect(JSON.parse(early.stdout)).toMatchObject({
      revision: 2,
      status: "running",
      steps: {},
      underWay: { "compose#0": [{}] },
    });
    expect(JSON.parse(late.stdout)).toMatchObject({
      revision: 7,
      status: "completed",
      output: { greeting: "Hello, Ada 0!" },
      steps: { "compose#0": { status: "ok", output: "Hello, Ada 0!" }, "send#0": { status: "ok" } },
      underWay: {},
    });
    expect(text.stdout).toContain('Settled steps (2)\n  ✓ compose#0 → "Hello, Ada 0!"');
    expect(text.stdout).toContain("Steps under way (1)\n  send#0, claimed ");
  });

  test("replay behind the end shows the last revision, and says so", async () => {
    const { code, stdout, stderr } = await runstream(["replay", "greet-0", "--at", "99"], { cwd });
    expect(code).toBe(0);
    expect(stdout).toContain("greet-0 at revision 7");
    expect(stderr).toContain("The run has no revision 99 yet; this is its last one, 7.");
  });
});

describe.concurrent("run ids", () => {
  test("may be abbreviated as long as one run begins so", async () => {
    const { code, stdout } = await runstream(["show", "hope", "--json"], { cwd });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ runId: "hopeless-1" });
  });

  test("that several runs begin with are refused with the candidates", async () => {
    const { code, stdout, stderr } = await runstream(["show", "greet-"], { cwd });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      'error: Several runs begin with "greet-"; type more of the id:\n  greet-0\n  greet-1\n  greet-2\n  greet-3\n',
    );
  });

  test.for([
    ["show", "wrun_0"],
    ["history", "nobody"],
    ["wake", ""],
  ])("that nobody has are refused by %s", async (args, { expect }) => {
    const { code, stdout, stderr } = await runstream(args, { cwd });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      `error: There is no run ${JSON.stringify(args[1])} in this store. "runstream ls" lists the runs; --store names another store.\n`,
    );
  });
});

describe.concurrent("doctor", () => {
  test("finds a whole store healthy", async () => {
    const [text, json] = await Promise.all([
      runstream(["doctor"], { cwd }),
      runstream(["doctor", "--json"], { cwd }),
    ]);
    expect(text).toMatchObject({ code: 0, stderr: "" });
    expect(text.stdout).toContain("./runstream.db: healthy");
    expect(text.stdout).toContain("run index: up to date");
    expect(json.code).toBe(0);
    expect(JSON.parse(json.stdout)).toMatchObject({
      healthy: true,
      attention: [],
      log: { healthy: true, groups: [{ parked: 0 }] },
    });
  });
});

test("reading makes no file but the index beside a store", () => {
  expect(readdirSync(cwd).filter((name) => !name.startsWith("runstream.db"))).toEqual([]);
  expect(existsSync(join(cwd, "runstream.db-index"))).toBe(true);
});
