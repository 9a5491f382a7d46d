/** W7's reader: walks a stored run several times, each time with a log, a journal and an engine of its own. It records nothing. */
import {
  createJournal,
  createMemoryStreams,
  createWorkflowEngine,
  openRunIndex,
  workflow,
} from "../src/index.ts";
import { openSqliteLog } from "../src/store-sqlite/index.ts";

const [file = "", runId = ""] = process.argv.slice(2);
const WALKS = 8;

let bodies = 0;
const replayed = workflow({
  async run(input, ctx) {
    for (let n = 0; n < Number(input.steps); n += 1) {
      await ctx.step("step", () => {
        bodies += 1;
      });
    }
    return ctx.waitFor("never");
  },
});

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

const walk = async (): Promise<{ readonly ms: number; readonly cpuMs: number }> => {
  const before = performance.now();
  const cpuBefore = cpuMs();
  const log = openSqliteLog(file);
  const engine = createWorkflowEngine({
    workflows: { replayed },
    journal: createJournal(log, { index: () => openRunIndex(log) }),
    streams: createMemoryStreams(),
    dispatch: () => {},
  });
  const status = await engine.execute(runId);
  const took = { ms: performance.now() - before, cpuMs: cpuMs() - cpuBefore };
  if (status !== "running" || bodies > 0)
    throw new Error(`W7: the run is ${status}, and ${bodies} bodies ran`);
  await log.close();
  return took;
};

const walks: Awaited<ReturnType<typeof walk>>[] = [];
for (let n = 0; n < WALKS; n += 1) walks.push(await walk());
process.send?.({ kind: "walked", walks });
process.once("SIGTERM", () => process.exit(0));
process.once("disconnect", () => process.exit(0));
