/** The process that gets killed: it works on the demo's store until it is told to stop, or until whoever started it is gone. */
import { consoleLogger, openRunstream } from "../src/index.ts";
import { digest } from "./digest.ts";

const [store] = process.argv.slice(2);
if (store === undefined || process.send === undefined) {
  process.stderr.write("demo/worker.ts is started by demo/main.ts; run that one: npm run demo\n");
  process.exit(2);
}

const runstream = openRunstream({
  store,
  workflows: { digest },
  // Few at a time, so that there is still something to do when the second kill comes.
  stepConcurrency: 3,
  logger: { ...consoleLogger, debug: () => {}, info: () => {} },
});
runstream.work();
process.send("ready");

const stop = async (): Promise<void> => {
  await runstream.stop({ graceMs: 1_000 });
  process.exit(0);
};
process.once("SIGTERM", stop);
process.once("disconnect", stop);
