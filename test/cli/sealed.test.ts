/** The command line on sealed payloads: with the keys, without them, and after a key was deleted. */
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { EXAMPLES, folder, launch, lines, runstream, write } from "./command-line.ts";

const cwd = folder();
const KEYS = write(
  cwd,
  "keys.ts",
  `import { existsSync } from "node:fs";
  import { hkdfSync } from "node:crypto";
  export const compress = true;
  export const keyFor = (runId: string) =>
    existsSync("erased-" + runId) ? undefined : new Uint8Array(hkdfSync("sha256", "master", "", runId, 32));`,
);
const greet = join(EXAMPLES, "greet.ts");
const approval = join(EXAMPLES, "approval.ts");
const as = (env: Record<string, string> = {}) => ({ cwd, env });

beforeAll(async () => {
  const done = await runstream(
    ["run", greet, "--id", "sealed-1", "--input", '{"name":"Ada"}', "--keys", KEYS],
    as(),
  );
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining("Ada") });
  const parked = await runstream(
    ["run", approval, "--id", "sealed-2", "--input", '{"order":"17"}', "--detach-when-parked"],
    as({ RUNSTREAM_KEYS: KEYS }),
  );
  expect(parked.code).toBe(4);
  const erased = await runstream(
    ["run", greet, "--id", "sealed-3", "--input", '{"name":"Eve"}', "--keys", KEYS],
    as(),
  );
  expect(erased.code).toBe(0);
  write(cwd, "erased-sealed-3", "");
});

test("history gives the values to who has the keys, and says locked to who has not", async () => {
  const withKeys = await runstream(["history", "sealed-1", "--json", "--keys", KEYS], as());
  const [created] = lines(withKeys.stdout) as { sealed?: unknown }[];
  expect(created).toMatchObject({ type: "RunCreated", data: { input: { name: "Ada" } } });
  expect(created?.sealed).toBeUndefined();
  const without = await runstream(["history", "sealed-1", "--json"], as());
  expect(lines(without.stdout)[0]).toMatchObject({ data: { input: null }, sealed: { input: "locked" } });
  expect(without.stdout).not.toContain("Ada");
  expect((await runstream(["history", "sealed-1"], as())).stdout).toContain("input locked");
});

test("history, show and replay say erased where the key was deleted, and everything else as ever", async () => {
  const env = as({ RUNSTREAM_KEYS: KEYS });
  const history = await runstream(["history", "sealed-3"], env);
  expect(history).toMatchObject({ code: 0, stdout: expect.stringContaining("Run completed, output erased") });
  expect(history.stdout).not.toContain("Eve");
  const show = await runstream(["show", "sealed-3"], env);
  expect(show.stdout).toMatch(/status +completed/);
  expect(show.stdout).toMatch(/input +erased/);
  expect(show.stdout).toMatch(/output +erased/);
  const json = JSON.parse((await runstream(["show", "sealed-3", "--json"], env)).stdout);
  expect(json).toMatchObject({
    status: "completed",
    input: null,
    output: null,
    sealed: { input: "erased", output: "erased" },
  });
  const replay = await runstream(["replay", "sealed-3", "--at", "99"], env);
  expect(replay.stdout).toContain("input erased");
  const state = JSON.parse((await runstream(["replay", "sealed-3", "--at", "99", "--json"], env)).stdout);
  expect(state).toMatchObject({ input: { sealed: "erased" }, output: { sealed: "erased" } });
});

test("a signal without the keys is refused, and says what to do; with them another process goes on with the run", async () => {
  const refused = await runstream(["signal", "approval/17", "--payload", '{"approved":true}'], as());
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("--keys") });
  const accepted = await runstream(
    ["signal", "approval/17", "--payload", '{"approved":true}', "--keys", KEYS],
    as(),
  );
  expect(accepted.code).toBe(0);
  const worker = launch(["worker", approval, "--keys", KEYS], as());
  await worker.says("completed sealed-2");
  worker.child.kill("SIGTERM");
  expect((await worker.ended).code).toBe(0);
  const show = await runstream(["show", "sealed-2", "--json", "--keys", KEYS], as());
  expect(JSON.parse(show.stdout)).toMatchObject({ status: "completed", input: { order: "17" } });
});

test("show and doctor tell of a run that is not over and whose key is gone; the worker says it once", async () => {
  const env = as({ RUNSTREAM_KEYS: KEYS, RUNSTREAM_STORE: "blocked.db" });
  const started = await runstream(["start", greet, "--id", "blocked-1", "--input", '{"name":"Bob"}'], env);
  expect(started.code).toBe(0);
  expect((await runstream(["doctor"], env)).code).toBe(0);
  const others = write(cwd, "others.ts", "export const keyFor = () => new Uint8Array(32);");
  const wrong = await runstream(["doctor"], as({ RUNSTREAM_KEYS: others, RUNSTREAM_STORE: "blocked.db" }));
  expect(wrong.code).toBe(1);
  expect(wrong.stdout).toMatch(/Run blocked-1 cannot (go on|be read): .*does not open/);
  write(cwd, "erased-blocked-1", "");
  const worker = launch(["worker", greet], env);
  await worker.says("Workflow run cannot go on; it is left alone");
  worker.child.kill("SIGTERM");
  const { code, stderr } = await worker.ended;
  expect(code).toBe(0);
  expect(stderr.match(/cannot go on/g)).toHaveLength(1);
  expect(stderr).toContain('The payloads of run "blocked-1" are sealed and its key is gone');
  const show = await runstream(["show", "blocked-1"], env);
  expect(show.stdout).toContain("Cannot go on: its payloads are sealed and its key is gone.");
  expect(show.stdout).not.toContain("it goes on when a worker runs");
  const json = JSON.parse((await runstream(["show", "blocked-1", "--json"], env)).stdout);
  expect(json).toMatchObject({ status: "pending", blocked: "erased" });
  const doctor = await runstream(["doctor", "--json"], env);
  expect(doctor.code).toBe(1);
  expect(JSON.parse(doctor.stdout)).toMatchObject({
    healthy: false,
    attention: [
      expect.stringContaining("Run blocked-1 cannot go on: its payloads are sealed and its key is gone"),
    ],
    index: { blockedRuns: [{ runId: "blocked-1" }] },
  });
  expect((await runstream(["cancel", "blocked-1"], env)).code).toBe(0);
  expect((await runstream(["doctor"], env)).code).toBe(0);
  expect((await runstream(["show", "blocked-1"], env)).stdout).not.toContain("Cannot go on");
});

test("a module without keys, or none at all, is wrong usage", async () => {
  const empty = write(cwd, "empty.ts", "export const other = 1;");
  for (const [module, said] of [
    ["nowhere.ts", 'There is no module "nowhere.ts" with keys'],
    [empty, "exports neither keyFor nor compress"],
    [write(cwd, "text.ts", 'export const keyFor = "x";'), "has to be a function"],
    [write(cwd, "broken.ts", "throw new Error('the vault is shut');"), "the vault is shut"],
  ] as const) {
    const { code, stderr } = await runstream(["history", "sealed-1", "--keys", module], as());
    expect({ module, code }).toEqual({ module, code: 2 });
    expect(stderr).toContain(said);
  }
});
