/**
 * The demo: four runs of a document digest, a worker that is killed without a warning in the middle of steps, others that take over,
 * and the proof from the event log that every step settled once.
 *
 * It fails (exit 1) if anything that it says is not true. It writes to `demo-output/` only, and leaves no process behind.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import pc from "picocolors";
import { openRunstream, type Runstream } from "../src/index.ts";
import { digest, reviewToken } from "./digest.ts";
import { MOST_DOCUMENTS, type Shelf, SLOWNESS_MS, shelves } from "./documents.ts";
import { type Kill, killInTheMiddle, type Scene } from "./kills.ts";
import { factsOf, type RunFacts, untrueClaims } from "./proof.ts";
import { report } from "./report.ts";
import { LogWatch } from "./watch.ts";
import { bodiesBegun } from "./witness.ts";
import { startWorker, type WorkerProcess } from "./worker-process.ts";

const ROOT = resolve(import.meta.dirname, "..");
const HOME = join(ROOT, "demo-output");
const STORE = join(HOME, "runstream.db");
const OUTPUT = join(HOME, "digests");
const REVIEW_MS = 60_000;
const SHORT_REVIEW_MS = 2_500;
const UNREVIEWED: Shelf = "long reads";
/** Far more than it takes: a demo that hangs is a demo that failed. */
const LONGEST_MS = 90_000;
/** A kill may come a moment after the step it was meant for: it counts as none, and is tried again. */
const MOST_TRIES = 8;

const begun = Date.now();
const say = (text: string): void => {
  const seconds = ((Date.now() - begun) / 1_000).toFixed(1).padStart(5);
  process.stdout.write(`${pc.dim(`${seconds} s`)}  ${text}\n`);
};

const clean = (): void => {
  for (const suffix of ["", "-wal", "-shm", "-index", "-index-wal", "-index-shm"])
    rmSync(`${STORE}${suffix}`, { force: true });
  rmSync(OUTPUT, { recursive: true, force: true });
  mkdirSync(OUTPUT, { recursive: true });
};

const startRuns = async (runstream: Runstream): Promise<Map<Shelf, string>> => {
  const runs = new Map<Shelf, string>();
  for (const shelf of shelves) {
    const reviewMs = shelf === UNREVIEWED ? SHORT_REVIEW_MS : REVIEW_MS;
    const input = { shelf, root: ROOT, output: OUTPUT, reviewMs };
    runs.set(shelf, await runstream.start(digest, input, { key: `digest/${shelf}` }));
  }
  return runs;
};

/** Kills until a kill has caught a step in the middle, and narrates it. */
const killOnce = async (
  scene: Scene,
  first: WorkerProcess,
  step: string,
  kills: Kill[],
): Promise<WorkerProcess> => {
  let worker = first;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const { kill, next } = await killInTheMiddle(scene, worker, step);
    kills.push(kill);
    worker = next;
    const keys = [...new Set(kill.caught.map((place) => place.slice(place.indexOf(" ") + 1)))];
    const caught =
      kill.caught.length === 0
        ? "no step was under way just then, so once more"
        : `${kill.caught.length} ${kill.caught.length === 1 ? "body was" : "bodies were"} cut off`;
    say(`${pc.red("SIGKILL")} to worker ${kill.killedPid}: ${caught}.`);
    for (const key of keys) say(`  cut off: ${key}`);
    say(
      `  Worker ${kill.nextPid} took over ${pc.green(`${kill.takeoverMs} ms`)} after the kill; ${kill.bootMs} ms of that it was starting.`,
    );
    if (kill.caught.length > 0) return worker;
  }
  throw new Error(`${MOST_TRIES} kills, and none caught step "${step}" in the middle.`);
};

const tell = async (runstream: Runstream, watch: LogWatch): Promise<void> => {
  say(pc.bold("A document digest whose worker is killed again and again, and which files each result once."));
  say(`Every document is really read, ${MOST_DOCUMENTS} a shelf at most.`);
  say(`Each step is slowed down by ${SLOWNESS_MS.join(" to ")} ms, so that the kills hit.`);
  const runs = await startRuns(runstream);
  say(`Recorded ${runs.size} runs (${shelves.join(", ")}) in ${relative(process.cwd(), STORE)}.`);
  say("Nobody works on them yet.");
  let worker = await startWorker(STORE);
  say(`Worker ${worker.pid} started, in ${worker.bootMs} ms.`);

  const scene: Scene = { runstream, watch, store: STORE, output: OUTPUT, runIds: [...runs.values()] };
  const kills: Kill[] = [];
  for (const settledBefore of [6, 16]) {
    await watch.until(`${settledBefore} settled steps`, () => watch.settled >= settledBefore || undefined);
    worker = await killOnce(scene, worker, "digest a document", kills);
  }

  for (const shelf of shelves.filter((one) => one !== UNREVIEWED)) {
    const token = reviewToken(shelf);
    await watch.until(`a wait for ${token}`, () => watch.tokens.has(token) || undefined);
    const accepted = await runstream.signal(token, { approved: true, by: "Ada" });
    if (!accepted) throw new Error(`The signal to ${token} was refused, though the log shows a wait for it.`);
    say(`Ada approves: ${pc.cyan(token)} is signalled.`);
    if (shelf === "samples") worker = await killOnce(scene, worker, "file the digest", kills);
  }
  say(`Nobody answers ${pc.cyan(reviewToken(UNREVIEWED))}: its deadline of ${SHORT_REVIEW_MS} ms decides.`);

  const facts: RunFacts[] = [];
  for (const runId of runs.values()) {
    await runstream.result(runId, { timeoutMs: 20_000 });
    facts.push(await factsOf(runstream, runId));
  }
  say("All four runs are over.");
  await worker.stop();
  say(`Worker ${worker.pid} was asked to stop, and did.`);

  const untrue = untrueClaims(facts, OUTPUT, runs.get(UNREVIEWED)!);
  if (kills.filter(({ caught }) => caught.length > 0).length < 3)
    untrue.push("Fewer than three kills hit a step.");
  if (untrue.length > 0) throw new Error(`What this demo claims is not true:\n  ${untrue.join("\n  ")}`);
  process.stdout.write(`${report(facts, kills, bodiesBegun(OUTPUT), STORE)}\n`);
};

const end = (code: number, why?: unknown): never => {
  if (why !== undefined)
    process.stderr.write(
      `${pc.red("The demo failed.")} ${why instanceof Error ? why.message : String(why)}\n`,
    );
  process.exit(code);
};

// Whoever reads the narration may have had enough of it.
process.stdout.on("error", () => end(1));
process.once("SIGINT", () => end(130, "It was interrupted."));
process.once("SIGTERM", () => end(143, "It was told to stop."));
setTimeout(() => end(1, `It was not over after ${LONGEST_MS} ms.`), LONGEST_MS).unref();

clean();
const runstream = openRunstream({ store: STORE, workflows: { digest } });
const watch = new LogWatch(runstream.log);
try {
  await tell(runstream, watch);
  watch.stop();
  await runstream.stop();
} catch (error) {
  end(1, error);
}
