/**
 * The directory: which runs and hooks there are, over all streams of a log. A fold in memory of the few events that say so, carried on
 * from where it stood before each answer, so that it sees everything appended before the question.
 *
 * It holds a few words for each run and nothing that is not in the log; only listings, a hook by its id, and the start of a worker ask
 * it, and it is empty until one of them does.
 */
import { isLeft } from "fp-ts/lib/Either.js";
import type { EventLog, Position } from "../../events/event-log.ts";
import { decodeSdkEvent } from "../../events/sdk-codec.ts";
import { type SdkEventName, sdkNameOf, sdkTypeOf } from "../../events/sdk-runs.ts";
import { StoreError } from "../../events/store-error.ts";
import { RUN_PREFIX, runIdOf } from "../../events/stream-names.ts";
import type { WorkflowRunStatus } from "../../executor/world-entities.ts";

export interface ListedRun {
  readonly runId: string;
  readonly workflowName: string;
  status: WorkflowRunStatus;
}

export interface ListedHook {
  readonly runId: string;
  readonly hookId: string;
}

const STATUS_AFTER: { readonly [N in SdkEventName]?: WorkflowRunStatus } = {
  run_created: "pending",
  run_started: "running",
  run_completed: "completed",
  run_failed: "failed",
  run_cancelled: "cancelled",
};

const TYPES = [...(Object.keys(STATUS_AFTER) as SdkEventName[]), "hook_created" as const].map(sdkTypeOf);

export class Directory {
  readonly #log: EventLog;
  /** In the order in which they were created. */
  readonly runs: ListedRun[] = [];
  readonly hooks: ListedHook[] = [];
  readonly #byId = new Map<string, ListedRun>();
  readonly #hookById = new Map<string, ListedHook>();
  #after: Position | undefined;
  #running: Promise<void> | undefined;

  constructor(log: EventLog) {
    this.#log = log;
  }

  hook(hookId: string): ListedHook | undefined {
    return this.#hookById.get(hookId);
  }

  /** Brings the directory up to where the log is now. */
  async catchUp(): Promise<void> {
    // A catch-up under way may have passed what was appended just before this question.
    await this.#running?.catch(() => {});
    this.#running ??= this.#read().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #read(): Promise<void> {
    const filter = { streamPrefix: RUN_PREFIX, types: TYPES };
    const after = this.#after === undefined ? {} : { after: this.#after };
    for await (const recorded of this.#log.readAll({ ...after, filter })) {
      const name = sdkNameOf(recorded.type);
      const runId = runIdOf(recorded.stream);
      if (name !== undefined && runId !== undefined) {
        const decoded = decodeSdkEvent(recorded);
        if (isLeft(decoded)) throw StoreError.corrupt(decoded.left.message, decoded.left);
        const { correlationId, eventData } = decoded.right.data;
        this.#fold(runId, name, correlationId, eventData?.json as { workflowName?: string } | undefined);
      }
      this.#after = recorded.position;
    }
  }

  #fold(
    runId: string,
    name: SdkEventName,
    hookId: string | undefined,
    created: { readonly workflowName?: string } | undefined,
  ): void {
    if (name === "hook_created") {
      if (hookId === undefined) return;
      const hook = { runId, hookId };
      this.hooks.push(hook);
      this.#hookById.set(hookId, hook);
      return;
    }
    const status = STATUS_AFTER[name] as WorkflowRunStatus;
    const known = this.#byId.get(runId);
    if (known !== undefined) known.status = status;
    else if (name === "run_created") {
      const run = { runId, workflowName: created?.workflowName ?? "", status };
      this.runs.push(run);
      this.#byId.set(runId, run);
    }
  }
}
