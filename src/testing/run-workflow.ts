/**
 * runWorkflow: the real engine over a journal, driven by a test instead of by time.
 *
 * The dispatcher only queues. A delivery asked for now is made at once, one after another; one asked for at an instant is only noted,
 * as `wakeAt`, so that no timer is ever set.
 *
 * - D1 The engine is the one that runs in production; nothing of the body or the journal is imitated.
 * - D2 Only the delivery that `crashAt` killed may reject unnoticed; every other rejection reaches the caller.
 * - D3 Deliveries of other runs in the same journal are theirs to make: this driver walks its own run only.
 */
import { createMemoryJournal } from "../embedded/memory-journal.ts";
import type { RunRecord } from "../engine/journal-store.ts";
import { silentLogger } from "../engine/logger.ts";
import { createMemoryStreams } from "../engine/progress-streams.ts";
import { checkSchema } from "../engine/schema.ts";
import type { AnyWorkflowDef, Schema, WorkflowDef } from "../engine/workflow.ts";
import { createWorkflowEngine, newRunId, type WorkflowEngine } from "../engine/workflow-engine.ts";
import { bendJournal } from "./run-workflow-journal.ts";
import { projectSteps } from "./run-workflow-projection.ts";
import type { RunWorkflowOptions, WorkflowTestHandle } from "./run-workflow-types.ts";

/** How many deliveries a run may take by default before `runWorkflow` gives up on it. */
export const DEFAULT_MAX_DELIVERIES = 50;

/**
 * Starts `def` with `input` and drives it until it ends or waits.
 *
 * The input is checked against `def.input` first, and the body gets what the schema makes of it. Rejects when the input does not fit,
 * when the run takes more than `maxDeliveries`, and with whatever the journal rejects with. A failing body is no rejection: `status`
 * is then `"failed"`.
 *
 * @example
 * ```ts
 * const run = await runWorkflow(review, { draft: "…" }, { name: "review" });
 * expect(run.status).toBe("running");
 * await run.signal("approval:1", { approved: true });
 * expect(run.output).toEqual({ published: true });
 * ```
 */
export const runWorkflow = async <P extends Schema, R>(
  def: WorkflowDef<P, R>,
  input: Record<string, unknown>,
  options: RunWorkflowOptions = {},
): Promise<WorkflowTestHandle<R>> => {
  const name = options.name ?? "workflow";
  const checked =
    def.input === undefined ? { ok: true as const, value: input } : await checkSchema(def.input, input);
  if (!checked.ok) throw new Error(`workflow ${name} refused that input: ${checked.message}`);
  const driver = createDriver<R>(def, name, options);
  return driver.start(checked.value);
};

interface Driver<R> {
  start(input: unknown): Promise<WorkflowTestHandle<R>>;
}

const createDriver = <R>(def: AnyWorkflowDef, name: string, options: RunWorkflowOptions): Driver<R> => {
  const { crashAt, maxDeliveries = DEFAULT_MAX_DELIVERIES, logger = silentLogger } = options;
  const store = options.journal ?? createMemoryJournal();
  const streams = createMemoryStreams();
  let delivery = new AbortController();
  const { journal, expiring } = bendJournal(store, crashAt, () =>
    delivery.abort(new Error(`the delivery was killed at step ${JSON.stringify(crashAt)}, as crashAt asks`)),
  );

  const runId = newRunId();
  let record: RunRecord | undefined;
  let projected = projectSteps([]);
  let wakeAt: number | undefined;
  let deliveries = 0;
  let crashed = false;
  let signalled = false;
  const queue: (number | undefined)[] = [];

  const openEngine = (): { readonly engine: WorkflowEngine; readonly stop: () => void } => {
    let open = true;
    const engine = createWorkflowEngine({
      workflows: { [name]: def },
      journal,
      streams,
      logger,
      newRunId: () => runId,
      dispatch: (dispatched, at) => {
        if (open && dispatched === runId) queue.push(at);
      },
    });
    return {
      engine,
      stop: () => {
        open = false;
      },
    };
  };
  let current = openEngine();

  const deliver = async (): Promise<void> => {
    if (deliveries >= maxDeliveries) {
      throw new Error(
        `run ${runId} of workflow ${name} took ${deliveries} deliveries without settling: its body is woken in a loop, or needs a higher maxDeliveries`,
      );
    }
    deliveries += 1;
    wakeAt = undefined;
    const controller = new AbortController();
    delivery = controller;
    try {
      await current.engine.execute(runId, controller.signal);
    } catch (error) {
      if (!controller.signal.aborted || error !== controller.signal.reason) throw error;
      crashed = true;
    }
  };

  const drain = async (): Promise<void> => {
    while (queue.length > 0) {
      const at = queue.shift();
      if (at === undefined) await deliver();
      else wakeAt = at;
    }
    record = await store.getRun(runId);
    projected = projectSteps(await store.readSteps(runId));
    if (record !== undefined && record.status !== "pending" && record.status !== "running")
      wakeAt = undefined;
  };

  // One thing after another, also for a caller who does not wait in between.
  let last: Promise<unknown> = Promise.resolve();
  const then = (work: () => Promise<void>): Promise<WorkflowTestHandle<R>> => {
    const done = last.then(work).then(() => handle);
    last = done.catch(() => {});
    return done;
  };

  const handle: WorkflowTestHandle<R> = {
    runId,
    get status() {
      return record?.status ?? "pending";
    },
    get output() {
      return record?.status === "completed" ? (record.output as R) : undefined;
    },
    get error() {
      return record?.error?.message;
    },
    get steps() {
      return projected.steps;
    },
    get reads() {
      return projected.reads;
    },
    get wakeAt() {
      return wakeAt;
    },
    get deliveries() {
      return deliveries;
    },
    get crashed() {
      return crashed;
    },
    get signalled() {
      return signalled;
    },
    journal,
    advanceSleep: (correlationIds) =>
      then(async () => {
        await current.engine.wakeUp(runId, correlationIds);
        await drain();
      }),
    signal: (token, payload) =>
      then(async () => {
        signalled = await current.engine.signal(token, payload);
        await drain();
      }),
    expireWaits: () =>
      then(async () => {
        queue.push(undefined);
        await expiring(drain);
      }),
    restart: () =>
      then(async () => {
        current.stop();
        current = openEngine();
        queue.push(undefined);
        await drain();
      }),
    close: async () => {
      await last;
      current.stop();
    },
  };

  return {
    start: (input) =>
      then(async () => {
        await current.engine.start(name, [input]);
        await drain();
      }),
  };
};
