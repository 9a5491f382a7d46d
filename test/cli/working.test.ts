import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { formatDuration, openRunstream } from "../../src/index.ts";
import { EXAMPLES, folder, LIBRARY, launch, lines, runstream, write } from "./command-line.ts";

const GREET = join(EXAMPLES, "greet.ts");
const APPROVAL = join(EXAMPLES, "approval.ts");
const RETRY = join(EXAMPLES, "retry.ts");

/** A module with a step that takes a while, and one that waits for a token. */
const SLOW = `
import { setTimeout as pause } from "node:timers/promises";
import { workflow } from ${JSON.stringify(LIBRARY)};
export const slow = workflow({
  async run(input, ctx) {
    await ctx.step("quick", () => "done");
    const waited = await ctx.step("slow", async () => { await pause(input.ms); return input.ms; });
    return { waited };
  },
});
`;

type Fact = { readonly type: string; readonly data: Record<string, unknown> };
const events = async (cwd: string, runId: string): Promise<Fact[]> =>
  lines((await runstream(["history", runId, "--json"], { cwd })).stdout) as Fact[];

describe.concurrent("run", () => {
  test("drives a run to its end: events on standard error, the output on standard output", async ({
    expect,
  }) => {
    const cwd = folder();
    const { code, stdout, stderr } = await runstream(
      ["run", GREET, "--input", '{"name":"Ada"}', "--id", "first"],
      { cwd },
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      greeting: "Hello, Ada!",
      sentAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    const said = stderr.trimEnd().split("\n");
    expect(said).toHaveLength(8);
    expect(said[0]).toMatch(
      /^ +0 ms {2}● Run of workflow "greet" created, input \{"name":"Ada"\} \(first\)$/,
    );
    expect(said.at(-1)).toMatch(/✓ Run completed/);
  });

  test("--json prints every event as it is stored, one a line", async ({ expect }) => {
    const cwd = folder();
    const module = write(cwd, "plain.mjs", "export default { run: async (input) => ({ got: input }) };\n");
    const { code, stdout, stderr } = await runstream(["run", module, "--json", "-i", "@-", "--id", "r"], {
      cwd,
      input: '{"a":1}',
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(lines(stdout)).toMatchObject([
      { runId: "r", revision: 0, type: "RunCreated", data: { workflow: "plain", input: { a: 1 } } },
      { runId: "r", revision: 1, type: "RunStarted" },
      { runId: "r", revision: 2, type: "RunCompleted", data: { output: { got: { a: 1 } } } },
    ]);
  });

  test("ends with 1 where the run failed, and shows what went wrong on the way", async ({ expect }) => {
    const cwd = folder();
    const [failed, retried] = await Promise.all([
      runstream(["run", RETRY, "hopeless"], { cwd }),
      runstream(["run", RETRY, "flaky", "--db", "other.db"], { cwd }),
    ]);
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    expect(failed.stderr).toContain("✗ Run failed: the card is blocked");
    expect(retried.code).toBe(0);
    expect(retried.stderr).toContain("failed on attempt 2 of 5, trying again in 20 ms: it was busy");
    expect(JSON.parse(retried.stdout)).toEqual({ attempts: 3 });
  });

  test("says how its wait is ended, in words that can be copied to a shell", async ({ expect }) => {
    const cwd = folder();
    const module = write(
      cwd,
      "waits.ts",
      `import { workflow } from ${JSON.stringify(LIBRARY)};
       export const naps = workflow({ async run(_, ctx) { await ctx.sleep("cool off", 86_400_000); } });
       export const asks = workflow({ async run(_, ctx) { await ctx.waitFor("Ada's $word"); } });`,
    );
    const hints = [
      [["naps", "--id", "dozy"], "it sleeps; cut that short with: runstream wake dozy\n"],
      [["naps", "--db", "my store.db", "--id", "r"], "runstream wake r --store 'my store.db'\n"],
      [["asks"], "it waits; answer it with: runstream signal 'Ada'\\''s $word'\n"],
    ] as const;
    for (const [args, hint] of hints) {
      const running = launch(["run", module, ...args], { cwd });
      await running.says(hint);
      running.child.kill("SIGKILL");
      await running.ended;
    }
    const shown = await runstream(["show", "dozy"], { cwd });
    expect(shown.stdout).toMatch(/Waiting for\n {2}the end of sleep "cool off" until /);
    expect(shown.stdout).toMatch(/ {2}sleep cool off +waiting\n/);
    expect(shown.stdout).not.toContain("sleep!");
  });

  test("refuses an id that a run has already, with 1", async ({ expect }) => {
    const cwd = folder();
    await runstream(["start", GREET, "--id", "once"], { cwd });
    const { code, stderr } = await runstream(["run", GREET, "--id", "once"], { cwd });
    expect(code).toBe(1);
    expect(stderr).toContain('error: Run "once" exists already.');
  });

  test("ends with 3 where somebody cancelled the run, and with 4 where it is left parked", async ({
    expect,
  }) => {
    const cwd = folder();
    const parked = await runstream(
      ["run", APPROVAL, "--input", '{"order":"1"}', "--id", "parked", "--detach-when-parked"],
      { cwd },
    );
    expect(parked).toMatchObject({ code: 4, stdout: "" });
    expect(parked.stderr).toContain('Run parked is parked: it waits for a signal to "approval/1" until ');
    expect(parked.stderr).toContain(`It goes on when a worker runs: runstream worker ${APPROVAL}`);

    const running = launch(["run", APPROVAL, "--input", '{"order":"2"}', "--id", "doomed"], { cwd });
    await running.says("Deadline of hook");
    const cancelled = await runstream(["cancel", "doomed", "--reason", "ordered twice"], { cwd });
    const again = await runstream(["cancel", "doomed"], { cwd });
    expect(cancelled).toEqual({ code: 0, stdout: "", stderr: "Cancelled: run doomed.\n" });
    expect(again.code).toBe(1);
    expect(again.stderr).toContain("Run doomed is over already: it is cancelled.");
    expect((await running.ended).code).toBe(3);
  });

  test("interrupted by Ctrl-C ends with 130, and the run goes on with a worker", async ({ expect }) => {
    const cwd = folder();
    const module = write(cwd, "slow.ts", SLOW);
    const running = launch(["run", module, "--input", '{"ms":3000}', "--id", "long"], { cwd });
    await running.says('Step "slow#0" claimed');
    running.child.kill("SIGINT");
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toContain(
      `Interrupted. Run long is recorded and not over. It goes on when a worker runs: runstream worker ${module}`,
    );
    const facts = await events(cwd, "long");
    expect(facts.map(({ type }) => type)).not.toContain("RunCompleted");
    expect(facts.filter(({ type, data }) => type === "StepSettled" && data.key === "quick#0")).toHaveLength(
      1,
    );
  });
});

describe.concurrent("worker", () => {
  test("walks what start recorded, signals and wakes what it waits for, and drains on SIGTERM", async ({
    expect,
  }) => {
    const cwd = folder();
    const started = await runstream(
      ["start", APPROVAL, "--input", '{"order":"9"}', "--id", "order-9", "--key", "k"],
      { cwd },
    );
    expect(started).toEqual({
      code: 0,
      stdout: "order-9\n",
      stderr: `A worker walks it: runstream worker ${APPROVAL}\n`,
    });
    const worker = launch(["worker", APPROVAL], { cwd });
    await worker.says("walking order-9 (approval)");
    const store = openRunstream({ store: join(cwd, "runstream.db") });
    const opened = new Promise<void>((resolve) => {
      store.log
        .subscribe({ after: "start", filter: { types: ["SleepScheduled"] } })
        .subscribe((item) => "type" in item && resolve());
    });
    await opened;
    const nothing = await runstream(["wake", "order-9", "--id", "nobody's"], { cwd });
    expect(nothing.code).toBe(1);
    expect(nothing.stderr).toContain("Run order-9 has no wait with the id nobody's.");
    const signalled = await runstream(["signal", "approval/9", "--payload", '{"approved":true,"by":"Ada"}'], {
      cwd,
    });
    expect(signalled).toEqual({ code: 0, stdout: "", stderr: 'Accepted: "approval/9" is answered.\n' });
    expect(await store.result("order-9")).toMatchObject({
      status: "completed",
      output: { outcome: "approved by Ada", tracking: "track-9" },
    });
    const state = (await runstream(["replay", "order-9", "--at", "99"], { cwd })).stdout;
    expect(state).toMatch(
      /deadline of hook approval\/9 until \S+Z, no longer needed: the hook is delivered\n/,
    );
    expect(state).toMatch(/sleep let it arrive until \S+Z, elapsed\n/);
    expect(state).not.toContain("waiting");
    await store.stop();
    await worker.says("completed order-9");
    worker.child.kill("SIGTERM");
    const { code, stdout, stderr } = await worker.ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toMatch(/\S+-\d+ is working on \.\/runstream\.db; workflows: approval\. Ctrl-C stops\./);
    expect(stderr).toMatch(/Stopping: 0 walks under way[\s\S]*Stopped\./);
  });

  test("wake cuts a sleep short", async ({ expect }) => {
    const cwd = folder();
    const module = write(
      cwd,
      "sleeper.ts",
      `import { workflow } from ${JSON.stringify(LIBRARY)};
       export default { sleeper: workflow({ async run(_, ctx) { await ctx.sleep("nap", 86_400_000, { correlationId: "nap" }); return "awake"; } }) };`,
    );
    const running = launch(["run", module, "--id", "dozy"], { cwd });
    await running.says('Sleep "nap" until');
    const woken = await runstream(["wake", "dozy", "--id", "nap", "--json"], { cwd });
    expect(JSON.parse(woken.stdout)).toEqual({ runId: "dozy", woken: 1 });
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toBe("awake");
  });

  test("that is killed in the middle of a step leaves its run to the next one, which finishes it", async ({
    expect,
  }) => {
    const cwd = folder();
    const module = write(cwd, "slow.ts", SLOW);
    await runstream(["start", module, "--input", '{"ms":700}', "--id", "slow-run"], { cwd });
    const store = openRunstream({ store: join(cwd, "runstream.db") });
    const claimed = new Promise<void>((resolve) => {
      store.log
        .subscribe({ after: "start", filter: { types: ["AttemptClaimed"] } })
        .subscribe((item) => "type" in item && item.data.key === "slow#0" && resolve());
    });
    const first = launch(["worker", module, "--json"], { cwd });
    await claimed;
    first.child.kill("SIGKILL");
    expect((await first.ended).code).toBe(null);
    const second = launch(["worker", module, "--json"], { cwd });
    expect(await store.result("slow-run")).toMatchObject({ status: "completed", output: { waited: 700 } });
    await store.stop();
    await second.says('"what":"over"');
    second.child.kill("SIGINT");
    const { code, stdout, stderr } = await second.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect((lines(stdout) as { what: string }[]).map(({ what }) => what)).toEqual([
      "working",
      "walking",
      "over",
      "stopping",
      "stopped",
    ]);
    const report = JSON.parse((await runstream(["show", "slow-run", "--json"], { cwd })).stdout) as object;
    expect(report).toMatchObject({
      status: "completed",
      steps: { ok: 2, failed: 0, running: 0 },
      begunAgain: [{ key: "slow#0", begun: 2 }],
      input: { ms: 700 },
      output: { waited: 700 },
    });
    const facts = await events(cwd, "slow-run");
    const created = facts[0]?.data.createdAt as number;
    const [firstClaim, secondClaim] = facts
      .filter(({ type, data }) => type === "AttemptClaimed" && data.key === "slow#0")
      .map(({ data }) => formatDuration((data.at as number) - created));
    const text = (await runstream(["show", "slow-run"], { cwd })).stdout;
    const row = text.split("\n").find((line) => line.includes("step slow#0"));
    expect(row?.trim().startsWith(`${firstClaim} `)).toBe(true);
    expect(row).toContain("ok, begun 2 times, the last time after ");
    expect(secondClaim).not.toBe(firstClaim);
  });
});

test("colours are for terminals: none in a pipe, and with FORCE_COLOR none where --no-color says so", async () => {
  const cwd = folder();
  const esc = String.fromCharCode(27);
  const piped = await runstream(["run", GREET], { cwd });
  const forced = await runstream(["ls"], { cwd, env: { FORCE_COLOR: "1" } });
  const refused = await runstream(["ls", "--no-color"], { cwd, env: { FORCE_COLOR: "1" } });
  expect(piped.stderr).not.toContain(esc);
  expect(forced.stdout).toContain(`${esc}[32mcompleted`);
  expect(refused.stdout).not.toContain(esc);
});
