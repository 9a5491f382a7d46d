/**
 * A thread that a deploy may stop: SIGTERM lets the batch under way end and be recorded, and starts no other. Whoever runs the program
 * next carries the thread on.
 *
 *   node examples/drain.ts threads.db 20 &
 *   kill %1
 *   node examples/drain.ts threads.db 20
 */
import { setTimeout as sleep } from "node:timers/promises";
import { openSqliteLog } from "../src/store-sqlite/index.ts";
import { GraphDrainedError, logCheckpointer, RunControl, workflow } from "../src/threads/index.ts";

const [file = "threads.db", batches = "20"] = process.argv.slice(2);
const control = new RunControl();
process.once("SIGTERM", () => control.drain("SIGTERM"));

const log = openSqliteLog(file);
const importAll = workflow(
  async (input: { readonly batches: number }, { step }) => {
    let rows = 0;
    for (let n = 1; n <= input.batches; n += 1) {
      rows += await step("batch", async () => {
        await sleep(50);
        console.log(`batch ${n}`);
        return 100;
      });
    }
    return rows;
  },
  { name: "import", checkpointer: logCheckpointer(log) },
);

const threadId = "import-1";
const begun = await importAll.state(threadId);
const run =
  begun === undefined
    ? importAll.stream({ batches: Number(batches) }, { threadId, control })
    : importAll.continue(threadId, { control });
try {
  for await (const event of run) if (event.type === "done") console.log(`imported ${event.output} rows`);
} catch (error) {
  if (!GraphDrainedError.is(error)) throw error;
  console.log(error.message);
  process.exitCode = 75;
} finally {
  await log.close();
}
