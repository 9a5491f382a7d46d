/** W5's worker: walks runs whose every body writes a line of notes (step, process, instant, processor time), and says when it is in the middle. */
import { openSync, writeSync } from "node:fs";
import { openRunstream, workflow } from "../src/index.ts";
import { machineMs } from "./machine-clock.ts";

/** The modules are loaded, and nothing of Runstream has run yet. */
const upAt = machineMs();
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const bootCpuMs = cpuMs();

const [store = "", noteFile = ""] = process.argv.slice(2);
const notes = openSync(noteFile, "a");

const steps = workflow({
  async run(input, ctx) {
    const count = Number(input.steps);
    for (let n = 0; n < count; n += 1) {
      await ctx.step("step", () => {
        writeSync(notes, `${n} ${process.pid} ${machineMs()} ${cpuMs()}\n`);
        if (n === count / 2) process.send?.({ kind: "middle" });
        return { ok: true, n };
      });
    }
  },
});

const runstream = openRunstream({ store, workflows: { steps } });
runstream.work();
process.send?.({ kind: "ready", upAt, readyAt: machineMs(), bootCpuMs });
process.once("SIGTERM", () => void runstream.stop().then(() => process.exit(0)));
process.once("disconnect", () => process.exit(0));
