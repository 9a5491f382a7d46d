/**
 * W5: a worker is killed in the middle of a run of 200 steps, and another is started. Every body writes down who ran it and when, so that
 * the file of notes says how long nothing went on, and which bodies ran twice.
 */
import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { openRunstream, workflow } from "../src/index.ts";
import { type Bench, rounds, sized, type Workload } from "./bench.ts";
import { endChild, messageOf, prepareChildren, startChild } from "./children.ts";
import { openFloor } from "./floor.ts";
import { machineMs } from "./machine-clock.ts";
import { median, medians } from "./statistics.ts";
import { freshFile, removeFile } from "./stores.ts";

const STEPS = 200;

interface Note {
  readonly step: number;
  readonly pid: number;
  readonly at: number;
  /** Processor time of the process so far. */
  readonly cpuMs: number;
}

interface Ready {
  readonly upAt: number;
  readonly readyAt: number;
  readonly bootCpuMs: number;
}

const notesIn = (file: string): Note[] =>
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => {
      const [step, pid, at, cpuMs] = line.split(" ").map(Number);
      return {
        step: step ?? Number.NaN,
        pid: pid ?? Number.NaN,
        at: at ?? Number.NaN,
        cpuMs: cpuMs ?? Number.NaN,
      };
    });

const killOne = async (bench: Bench) => {
  const file = freshFile(bench, "w5");
  const noteFile = `${file}-notes`;
  // Only its name is needed to start a run; the workers have the body.
  const client = openRunstream({ store: file, workflows: { steps: workflow({ run: () => undefined }) } });
  const first = startChild("w5-worker", [file, noteFile]);
  await messageOf(first, "ready");
  const middle = messageOf(first, "middle");
  const runId = await client.start("steps", { steps: STEPS });
  await middle;
  const killedAt = machineMs();
  first.kill("SIGKILL");
  const second = startChild("w5-worker", [file, noteFile]);
  const { upAt, readyAt, bootCpuMs } = await messageOf<Ready>(second, "ready");
  const outcome = await client.result(runId);
  if (outcome.status !== "completed") throw new Error(`W5: the run ended ${outcome.status}`);
  await endChild(second);
  await client.stop();
  const notes = notesIn(noteFile);
  removeFile(file);
  rmSync(noteFile);
  const goneOn = notes.find(({ pid }) => pid === second.pid);
  const before = notes.filter(({ pid }) => pid !== second.pid).length;
  if (goneOn === undefined || before >= STEPS)
    throw new Error("W5: the first worker finished before it was killed");
  return {
    killToStepMs: goneOn.at - killedAt,
    bootMs: upAt - killedAt,
    upToStepMs: goneOn.at - upAt,
    readyToStepMs: goneOn.at - readyAt,
    bootCpuMs,
    upToStepCpuMs: goneOn.cpuMs - bootCpuMs,
    bodiesTwice: notes.length - STEPS,
  };
};

/** How long Node takes to start and to say so, without anything of ours. */
const bareNode = async (): Promise<number> => {
  const before = machineMs();
  const child = spawn(process.execPath, ["-e", "process.send({ kind: 'up' })"], {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  await messageOf(child, "up");
  const took = machineMs() - before;
  await endChild(child);
  return took;
};

export const w5: Workload = {
  id: "W5",
  what: "a worker is killed, another one goes on",
  async run(bench) {
    await prepareChildren();
    const floor = openFloor(bench.folder);
    const all = await rounds(sized(bench.size, { quick: 3, normal: 9, full: 15 }), (round) => {
      bench.progress(`W5: kill ${round + 1}`);
      return killOne(bench);
    });
    const measured = medians(all);
    const mostTwice = Math.max(...all.map(({ bodiesTwice }) => bodiesTwice));
    const bareNodeMs = median(await rounds(5, bareNode));
    const floorMs = floor.commitMs();
    bench.measured("W5", "sqlite", { ...measured, mostTwice, kills: all.length, bareNodeMs, floorMs });
    floor.close();
    const up = { value: measured.upToStepMs, limit: 30, unit: "ms", floorMs };
    bench.judge({ budget: "W5", what: "process up to next step", ...up });
    const killed = { value: measured.killToStepMs, limit: 200, unit: "ms", floorMs };
    bench.judge({ budget: "W5", what: "SIGKILL to next step, Node's start included", ...killed });
    bench.judge({ budget: "W5", what: "bodies run twice, at most", value: mostTwice, limit: 1, unit: "" });
  },
};
