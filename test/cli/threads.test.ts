/** Threads in the command line: they are listed, shown and replayed as runs are, answered by `resume`, and read by `state`. */
import { join, resolve } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { openRunstream, workflow as runWorkflow } from "../../src/index.ts";
import { openSqliteLog } from "../../src/store-sqlite/index.ts";
import { logCheckpointer, workflow } from "../../src/threads/index.ts";
import { type Ended, folder, launch, lines, runstream, write } from "./command-line.ts";
import { recordedIn } from "./recorded-thread.ts";

const THREADS = resolve(import.meta.dirname, "../../src/threads/index.ts");
const QUESTION = "refunds:interrupt:0";

const MODULE = `
import { workflow } from ${JSON.stringify(THREADS)};

export const refund = workflow(
  async (input: { orderId: string }, { step, interrupt }) => {
    const order = await step("load", () => ({ id: input.orderId, total: 25 }));
    const yes = interrupt<boolean>({ reason: \`Refund \${order.total}?\`, payload: order });
    if (!yes) return { refunded: false };
    await step("refund", () => ({ at: new Date(0) }));
    return { refunded: true };
  },
  { name: "refunds" },
);

export const picky = workflow(
  (_input: unknown, { interrupt }) => {
    const name = interrupt<string>({ reason: "Who?" });
    if (name === "nobody") throw new TypeError("nobody will not do");
    return interrupt<number>({ reason: \`How old is \${name}?\` });
  },
  { name: "picky" },
);

export const slow = workflow(
  async (_input: unknown, { step, interrupt, signal }) => {
    interrupt({ reason: "Begin?" });
    await step("wait", () => new Promise((done) => {
      const timer = setTimeout(done, 60_000);
      console.error("slow has begun");
      signal.addEventListener("abort", () => { clearTimeout(timer); done(undefined); });
    }));
  },
  { name: "slow" },
);
`;

const cwd = folder();
const store = join(cwd, "runstream.db");
write(cwd, "refunds.ts", MODULE);
write(cwd, "renamed.ts", MODULE.replaceAll('name: "refunds"', 'name: "repayments"'));
write(cwd, "none.ts", "export const answer = 42;\n");

/** Begins threads as a program of the user's does, up to their question. */
beforeAll(async () => {
  const log = openSqliteLog(store);
  const { refund, picky, slow } = (await import(join(cwd, "refunds.ts"))) as Record<
    string,
    { [key: symbol]: (checkpointer: unknown) => ReturnType<typeof workflow> }
  >;
  const here = (one: typeof refund) =>
    one![Symbol.for("runstream.threads.onCheckpointer/1")]!(logCheckpointer(log));
  for (const threadId of ["order-1", "order-2", "order-3", "reading-1", "reading-2"])
    await here(refund).invoke({ orderId: threadId }, { threadId, tenantId: "acme" });
  for (const threadId of ["picky-1", "picky-2"]) await here(picky).invoke(null, { threadId });
  await here(slow).invoke(null, { threadId: "slow-1" });
  const two = workflow(
    async (_input: unknown, { interrupt }) => {
      const ask = async (reason: string): Promise<unknown> => interrupt({ reason });
      return Promise.all([ask("left?"), ask("right?")]);
    },
    { name: "refunds", checkpointer: logCheckpointer(log) },
  );
  await two.invoke(null, { threadId: "double" });
  await log.close();
  const runs = openRunstream({ store, workflows: { job: runWorkflow({ run: async () => 1 }) } });
  await runs.start("job", {}, { runId: "a-run" });
  await runs.stop();
});

const run = (...args: string[]): Promise<Ended> => runstream(args, { cwd });
const json = async (...args: string[]): Promise<Record<string, unknown>> => {
  const { stdout, code, stderr } = await run(...args, "--json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout) as Record<string, unknown>;
};

const recorded = recordedIn(store);

describe.concurrent("a thread", () => {
  test("is listed with the runs, by its status", async () => {
    const { runs } = (await json("ls", "--status", "awaiting_input", "--workflow", "refunds")) as {
      runs: Record<string, unknown>[];
    };
    const reading = runs.filter(({ runId }) => String(runId).startsWith("reading-"));
    expect(reading).toMatchObject([
      { runId: "reading-2", workflow: "refunds", status: "awaiting_input", tenant: "acme" },
      { runId: "reading-1", workflow: "refunds", status: "awaiting_input", tenant: "acme" },
    ]);
    expect(reading[0]).not.toHaveProperty("problem");
    const { stdout } = await run("ls", "--workflow", "refunds");
    expect(stdout).toMatch(/^reading-1 {2,}refunds {2,}awaiting_input {2,}\d{4}-/m);
  });

  test("is shown with what it asks", async () => {
    const { code, stdout } = await run("show", "reading-1");
    expect(code).toBe(0);
    expect(stdout).toContain("status      awaiting_input");
    expect(stdout).toContain('input       {"orderId":"reading-1"}');
    expect(stdout).toMatch(/Waiting for\n {2}an answer to "refunds:interrupt:0", asked .* ago: Refund 25\?/);
    expect(stdout).toMatch(/step load .*ok\n/);
    expect(stdout).toMatch(/question refunds:interrupt:0: Refund 25\? .*open\n/);
    expect(await json("show", "reading-1")).toMatchObject({
      thread: true,
      status: "awaiting_input",
      waitingFor: [{ kind: "question", key: QUESTION, reason: "Refund 25?" }],
      input: { orderId: "reading-1" },
    });
  });

  test("has a history of its own facts", async () => {
    const { stdout } = await run("history", "reading-1", "--json");
    expect(lines(stdout)).toMatchObject([
      {
        revision: 0,
        type: "ThreadStarted",
        data: { workflow: "refunds", input: { orderId: "reading-1" }, metadata: { graph: "refunds" } },
      },
      { revision: 1, type: "ThreadStepSettled", data: { checkpoint: 1, key: "load", output: { total: 25 } } },
      {
        revision: 2,
        type: "ThreadQuestionAsked",
        data: { id: QUESTION, question: { reason: "Refund 25?" } },
      },
      { revision: 3, type: "ThreadPaused", data: { checkpoint: 2 } },
    ]);
    const { stdout: people } = await run("history", "reading-1", "--from", "1");
    expect(people).toMatch(
      /^ {4}1 .* ✓ Step "load" succeeded, result \{"id":"reading-1","total":25\}\n {4}2 .* \? Question "refunds:interrupt:0" asked: .*\n {4}3 .* \? Thread waits for an answer\n$/,
    );
  });

  test("is replayed to any revision", async () => {
    expect(await json("replay", "reading-1", "--at", "1")).toMatchObject({
      runId: "reading-1",
      revision: 1,
      step: 1,
      status: "running",
      state: { input: { orderId: "reading-1" }, steps: { load: { value: { id: "reading-1", total: 25 } } } },
      interrupts: [],
    });
    expect(await json("replay", "reading-1", "--at", "0")).toMatchObject({
      revision: 0,
      step: 0,
      status: "running",
      state: { steps: {} },
    });
    const { stdout } = await run("replay", "reading-1", "--at", "3");
    expect(stdout).toContain("reading-1 at revision 3\n  refunds, awaiting_input\n");
    expect(stdout).toContain("Questions (1)\n  refunds:interrupt:0: Refund 25?, about ");
  });

  test("has a state at every checkpoint", async () => {
    expect(await json("state", "reading-2")).toMatchObject({
      version: 2,
      id: "reading-2:2",
      status: "awaiting_input",
      interrupts: [{ id: QUESTION }],
    });
    expect(await json("state", "reading-2", "--step", "1")).toMatchObject({
      id: "reading-2:1",
      status: "running",
      state: { steps: { load: { value: { total: 25 } } } },
    });
    const { stdout } = await run("state", "reading-2");
    expect(stdout).toMatch(
      /^reading-2 at checkpoint 2\n {2}refunds, awaiting_input\n {2}input \{"orderId":"reading-2"\}\n {2}recorded .*\n\nSteps \(1\)\n {2}✓ load → \{"id":"reading-2","total":25\}\n\nQuestions \(1\)\n/,
    );
  });

  test("is no run: workers and signals leave it alone, and doctor finds it whole", async () => {
    const { code, stderr } = await run("cancel", "reading-2");
    expect({ code, stderr }).toMatchObject({ code: 1 });
    expect(stderr).toContain("the stream belongs to a thread");
    expect(await json("doctor")).toMatchObject({ healthy: true, attention: [] });
  });
});

describe.concurrent("resume", () => {
  const answer = (thread: string, text: string, ...more: string[]): Promise<Ended> =>
    run("resume", thread, "--answer", text, "--module", "refunds.ts", ...more);

  test("answers the question and carries the thread on to its end", async () => {
    const { code, stdout, stderr } = await answer("order-1", "true");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ refunded: true });
    expect(stderr).toMatch(/ ! Question "refunds:interrupt:0" answered with true\n/);
    expect(stderr).toMatch(/ ✓ Step "refund" succeeded, result /);
    expect(stderr).not.toContain('Step "load"');
    expect(await recorded("order-1")).toMatchObject({
      status: "completed",
      state: { output: { refunded: true } },
      resolved: { [QUESTION]: true },
      metadata: { tenantId: "acme" },
    });
    const again = await answer("order-1", "true");
    expect(again.code).toBe(1);
    expect(again.stderr).toContain("Thread order-1 is not awaiting input: it is completed.");
  });

  test("prints every event as a line with --json", async () => {
    const { code, stdout } = await answer("order-2", "false", "--json");
    expect(code).toBe(0);
    expect(lines(stdout)).toMatchObject([
      { runId: "order-2", revision: 4, type: "ThreadAnswered", data: { id: QUESTION, answer: false } },
      { revision: 5, type: "ThreadContinued" },
      { revision: 6, type: "ThreadCompleted", data: { output: { refunded: false } } },
    ]);
  });

  test("says so when the thread asks again, and ends with 4", async () => {
    const { code, stderr } = await answer("picky-1", '"Ada"');
    expect(code).toBe(4);
    expect(stderr).toContain("It asks. See runstream state picky-1");
    const end = await answer("picky-1", "36");
    expect({ code: end.code, stdout: end.stdout }).toEqual({ code: 0, stdout: "36\n" });
  });

  test("ends with 1 when the thread fails, which is recorded", async () => {
    const { code, stdout, stderr } = await answer("picky-2", '"nobody"');
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("✗ Thread failed: nobody will not do");
    expect(await recorded("picky-2")).toMatchObject({
      status: "failed",
      error: { name: "TypeError", message: "nobody will not do" },
    });
  });

  test("ends as interrupted on Ctrl-C, which is recorded", async () => {
    const running = launch(["resume", "slow-1", "--answer", "1", "--module", "refunds.ts"], { cwd });
    await running.says("slow has begun");
    running.child.kill("SIGINT");
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toContain(
      "Interrupted, and the answer is recorded. It goes on with runstream continue slow-1 --module refunds.ts",
    );
    const { status, resolved = {} } = (await recorded("slow-1"))!;
    expect({ status, answers: Object.values(resolved) }).toEqual({
      status: "interrupted",
      answers: [1],
    });
    expect((await answer("slow-1", "1")).stderr).toContain(
      "Thread slow-1 is not awaiting input: it is interrupted. Nothing was recorded. It goes on with runstream continue slow-1 --module refunds.ts",
    );
  });

  test("asks which of several questions is answered", async () => {
    const vague = await answer("double", "1");
    expect(vague.code).toBe(2);
    expect(vague.stderr).toMatch(
      /asks several questions; say which one by --question:\n.*: left\?\n.*: right\?/,
    );
    const wrong = await answer("double", "1", "--question", "nothing");
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('Thread double does not ask "nothing".');
  });

  test.for<readonly [string, readonly string[], number, string]>([
    [
      "a thread that is not there",
      ["nobody", "--answer", "1", "--module", "refunds.ts"],
      1,
      'There is no run "nobody" in this store.',
    ],
    ["a run", ["a-run", "--answer", "1", "--module", "refunds.ts"], 1, '"a-run" is a run and no thread'],
    [
      "an answer that is no JSON",
      ["order-3", "--answer", "yes", "--module", "refunds.ts"],
      2,
      "--answer is not JSON: line 1, column 1",
    ],
    ["a missing answer", ["order-3", "--module", "refunds.ts"], 2, "required option '-a, --answer <json>'"],
    ["a missing module", ["order-3", "--answer", "1"], 2, "required option '-m, --module <file>'"],
    [
      "a module without workflows of threads",
      ["order-3", "--answer", "1", "--module", "none.ts"],
      2,
      "none.ts exports no workflow of threads.",
    ],
    [
      "a module whose workflow has another name",
      ["order-3", "--answer", "1", "--module", "renamed.ts"],
      2,
      'The thread was recorded by a workflow named "refunds", and none of renamed.ts has that name',
    ],
    [
      "an export that is not there",
      ["order-3", "--answer", "1", "--module", "refunds.ts", "--workflow", "x"],
      2,
      'refunds.ts exports no workflow "x". It exports: picky (named "picky"), refund (named "refunds"), slow (named "slow").',
    ],
  ])("refuses %s, and records nothing", async ([, args, exitCode, message]) => {
    const { code, stdout, stderr } = await run("resume", ...args);
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: "" });
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/^ +at /m);
    expect(await recorded("order-3")).toMatchObject({ step: 2, status: "awaiting_input" });
  });
});

describe.concurrent("state", () => {
  test("refuses a checkpoint that is not there, and a run", async () => {
    const missing = await run("state", "reading-1", "--step", "9");
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain("Thread reading-1 has no checkpoint 9. It has the checkpoints 1 to 2.");
    const ofRun = await run("state", "a-run");
    expect(ofRun.code).toBe(1);
    expect(ofRun.stderr).toContain('"a-run" is a run and no thread');
  });
});
