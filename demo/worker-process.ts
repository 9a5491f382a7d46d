/** Worker processes: started, killed without a warning, and never left behind. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const WORKER = fileURLToPath(new URL("worker.ts", import.meta.url));
const READY_WITHIN_MS = 10_000;

const living = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of living) child.kill("SIGKILL");
});

export interface WorkerProcess {
  readonly pid: number;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** From its start to its readiness to work, in milliseconds. */
  readonly bootMs: number;
  /** SIGKILL: no handler runs, nothing is said or written any more. Answers when it was sent and the process is gone. */
  kill(): Promise<number>;
  /** SIGTERM: it drains and ends. */
  stop(): Promise<void>;
}

export const startWorker = async (store: string): Promise<WorkerProcess> => {
  const startedAt = Date.now();
  const child = fork(WORKER, [store], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    // The sources are TypeScript: a cache of what Node makes of them keeps the starts, and so the takeovers, short.
    env: { ...process.env, NODE_COMPILE_CACHE: join(dirname(store), "compile-cache") },
  });
  living.add(child);
  const gone = new Promise<void>((resolve) => {
    child.once("exit", () => {
      living.delete(child);
      resolve();
    });
  });
  const ready = once(child, "message", { signal: AbortSignal.timeout(READY_WITHIN_MS) });
  await Promise.race([
    ready,
    gone.then(() => Promise.reject(new Error("The worker ended before it was ready (see above)."))),
  ]);
  return {
    pid: child.pid!,
    startedAt,
    bootMs: Date.now() - startedAt,
    async kill() {
      const at = Date.now();
      child.kill("SIGKILL");
      await gone;
      return at;
    },
    async stop() {
      child.kill("SIGTERM");
      await gone;
    },
  };
};
