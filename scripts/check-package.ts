/**
 * Is what `npm pack` yields a package? Packs it, has its shape and types judged (publint, attw), installs it into an empty project, and
 * there type-checks and runs, as a user would, a durable workflow, a thread, a World and the command line.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const project = join(import.meta.dirname, "..");
const bin = (name: string): string => join(project, "node_modules", ".bin", name);

const run = (folder: string, command: string, ...args: string[]): string => {
  console.log(`$ ${[command.split("/").at(-1), ...args].join(" ")}`);
  const { status, stdout } = spawnSync(command, args, {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0) {
    console.error(stdout);
    throw new Error(`${command} ended with ${status}.`);
  }
  return stdout;
};

const check = (what: string, holds: boolean): void => {
  if (!holds) throw new Error(`The package fails: ${what}.`);
  console.log(`ok: ${what}`);
};

const program = `
import { openRunstream, workflow } from "runstream";
import { runWorkflow } from "runstream/testing";
import { createMemoryLog } from "runstream/store-memory";
import { openSqliteLog } from "runstream/store-sqlite";
import { openEventStoreLog } from "runstream/store-eventstore";
import { logCheckpointer, workflow as thread } from "runstream/threads";
import { DEFAULT_STEP_MAX_RETRIES, executeStep } from "runstream/executor";
import { createWorld } from "runstream/workflow-sdk";

export const double = workflow({
  run: async (input: Record<string, unknown>, ctx) => ({ twice: await ctx.step("double", () => Number(input.n) * 2) }),
});

for (const store of [createMemoryLog(), openSqliteLog("runs.db")]) {
  const runstream = openRunstream({ store, workflows: { double } });
  runstream.work();
  const outcome = await runstream.result<{ twice: number }>(await runstream.start(double, { n: 21 }), { timeoutMs: 10_000 });
  if (outcome.status !== "completed" || outcome.output.twice !== 42) throw new Error(JSON.stringify(outcome));
  await runstream.stop();
  await store.close();
}

const threads = openSqliteLog("threads.db");
const ask = thread(async (name: string, { step, interrupt }) => {
  const greeting = await step("greet", () => "Hello, " + name);
  return interrupt<boolean>({ reason: "Send it?" }) ? greeting : "nothing";
}, { checkpointer: logCheckpointer(threads) });
const asked = await ask.invoke("Ada", { threadId: "t" });
const answered = await ask.resumeWith("t", true);
if (asked.status !== "awaiting_input" || answered.output !== "Hello, Ada") throw new Error(JSON.stringify(answered));
await threads.close();

const world = createWorld({ store: ":memory:" });
const run = { eventType: "run_created", eventData: { deploymentId: "d", workflowName: "w", input: new Uint8Array() } } as const;
const created = await world.events.create(null, run);
if (created.run?.status !== "pending" || world.specVersion !== 5) throw new Error(JSON.stringify(created));
await world.close?.();
if (DEFAULT_STEP_MAX_RETRIES !== 3 || typeof executeStep !== "function") throw new Error("no executor");

const refused = await openEventStoreLog("esdb://127.0.0.1:1?tls=false", { deadlineMs: 500 }).catch((error: Error) => error);
if (!(refused instanceof Error) || !refused.message.includes("127.0.0.1:1")) throw new Error("a server where there is none");

const tested = await runWorkflow(double, { n: 4 });
console.log(tested.status, tested.output?.twice);
`;

const folder = mkdtempSync(join(tmpdir(), "runstream-package-"));
try {
  run(project, "npm", "pack", "--silent", "--pack-destination", folder);
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "";
  run(project, bin("publint"), "run", join(folder, tarball), "--strict");
  run(project, bin("attw"), join(folder, tarball), "--profile", "esm-only");

  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "newcomer", private: true, type: "module" }),
  );
  writeFileSync(join(folder, "main.ts"), program);
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: { module: "nodenext", target: "es2023", strict: true, noEmit: true, types: ["node"] },
      files: ["main.ts"],
    }),
  );
  run(
    folder,
    "npm",
    "install",
    "--silent",
    "--prefer-offline",
    "--no-fund",
    "--no-audit",
    `./${tarball}`,
    "@types/node@24",
  );
  run(folder, bin("tsc"), "-p", "tsconfig.json");
  check("types resolve in a strict project", true);
  check(
    "workflows, threads and a World run, on both embedded stores and in a test, and a server that is not there is named",
    run(folder, bin("node"), "main.ts").trim() === "completed 8",
  );
  const listed = run(
    folder,
    bin("node"),
    join(folder, "node_modules/.bin/runstream"),
    "ls",
    "--store",
    "runs.db",
    "--json",
  );
  check("the command line lists the run", listed.includes('"completed"'));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
