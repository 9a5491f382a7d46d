/**
 * The fold of an SDK run's stream: the run, its steps, hooks and waits as the SDK calls them entities. They are projections of the
 * events and are stored nowhere.
 *
 * Invariants:
 * - E1 An entity is replaced, never edited: what was answered once does not change under whoever holds it.
 * - E2 A run that is over has no hooks and no waits (rule 9 of docs/how-to/workflow-sdk.md).
 */
import { decodeTime } from "ulid";
import type { Hook, Step, Wait, WorkflowRun } from "../../executor/world-entities.ts";
import type { AttributeChange, Event } from "../../executor/world-events.ts";
import { layeredOver, type MapLike } from "../../projections/layered-map.ts";
import { fromStored, toStored } from "./event-form.ts";
import type { Fold } from "./stream-session.ts";

/** What this World says wherever the SDK asks for an owner, a project or an environment. */
const OWNER = "runstream";

export interface SdkRunState {
  revision: number;
  run: WorkflowRun | undefined;
  readonly steps: MapLike<string, Step>;
  /** Every hook the run ever had. */
  readonly hooks: MapLike<string, { readonly hook: Hook; readonly disposed: boolean }>;
  readonly waits: MapLike<string, Wait>;
  /** Correlation ids of what the workflow itself wrote to its attributes. */
  readonly attributeWrites: MapLike<string, true>;
  /** By revision; in a fork only those that it added. */
  readonly events: Event[];
  /** What cancelled the run. */
  cancelled: Event | undefined;
  /** Id of the last event, and the epoch milliseconds in it. */
  lastId: string | undefined;
  lastTime: number;
  /** The milliseconds in the id of the last event that came from outside the run's own replay. */
  outsideTime: number;
}

/** The milliseconds in an event id of this World: a prefix and a ULID. */
export const timeOfId = (eventId: string): number => decodeTime(eventId.slice(eventId.indexOf("_") + 1));

export const isOver = (run: WorkflowRun | undefined): boolean =>
  run !== undefined && run.status !== "pending" && run.status !== "running";

/** The hook, while it can be answered. */
export const liveHook = (state: SdkRunState, hookId: string): Hook | undefined => {
  const held = state.hooks.get(hookId);
  return held === undefined || held.disposed || isOver(state.run) ? undefined : held.hook;
};

export const sdkRunFold: Fold<SdkRunState, Event> = {
  empty: () => ({
    revision: -1,
    run: undefined,
    steps: new Map(),
    hooks: new Map(),
    waits: new Map(),
    attributeWrites: new Map(),
    events: [],
    cancelled: undefined,
    lastId: undefined,
    lastTime: 0,
    outsideTime: -1,
  }),
  fork: (state) => ({
    ...state,
    steps: layeredOver(state.steps),
    hooks: layeredOver(state.hooks),
    waits: layeredOver(state.waits),
    attributeWrites: layeredOver(state.attributeWrites),
    events: [],
  }),
  evolve: (state, event) => {
    state.revision += 1;
    state.events.push(event);
    state.lastId = event.eventId;
    state.lastTime = timeOfId(event.eventId);
    evolveEntities(state, event);
  },
  encode: toStored,
  decode: fromStored,
};

const evolveEntities = (state: SdkRunState, event: Event): void => {
  switch (event.eventType) {
    case "run_created":
      state.run = newRun(event);
      return;
    case "run_started":
      if (state.run !== undefined)
        state.run = change(state.run, event, {
          status: "running",
          startedAt: state.run.startedAt ?? event.createdAt,
        });
      return;
    case "run_completed":
      return endRun(state, event, { status: "completed", output: event.eventData.output });
    case "run_failed": {
      const { error, errorCode } = event.eventData;
      return endRun(state, event, { status: "failed", error, ...(errorCode !== undefined && { errorCode }) });
    }
    case "run_cancelled":
      state.cancelled = event;
      return endRun(state, event, { status: "cancelled" });
    case "attr_set": {
      if (event.eventData.writer.type === "workflow" && event.correlationId !== undefined)
        state.attributeWrites.set(event.correlationId, true);
      if (state.run === undefined) return;
      const attributes = mergeAttributes(state.run.attributes, event.eventData.changes);
      state.run = change(state.run, event, { attributes });
      return;
    }
    case "hook_created":
      state.hooks.set(event.correlationId, { hook: newHook(event), disposed: false });
      return;
    case "hook_received":
      state.outsideTime = state.lastTime;
      return;
    case "hook_disposed": {
      const held = state.hooks.get(event.correlationId);
      if (held !== undefined) state.hooks.set(event.correlationId, { ...held, disposed: true });
      return;
    }
    case "hook_conflict":
      return;
    case "wait_created":
      state.waits.set(event.correlationId, {
        waitId: `${event.runId}-${event.correlationId}`,
        runId: event.runId,
        status: "waiting",
        resumeAt: event.eventData.resumeAt,
        createdAt: event.createdAt,
        updatedAt: event.createdAt,
        ...(event.specVersion !== undefined && { specVersion: event.specVersion }),
      });
      return;
    case "wait_completed": {
      const wait = state.waits.get(event.correlationId);
      if (wait !== undefined)
        state.waits.set(
          event.correlationId,
          change(wait, event, { status: "completed", completedAt: event.createdAt }),
        );
      return;
    }
    case "step_created":
      state.steps.set(event.correlationId, newStep(event));
      return;
    default: {
      const step = state.steps.get(event.correlationId);
      if (step !== undefined) state.steps.set(event.correlationId, evolveStep(step, event));
    }
  }
};

type EventOf<T extends Event["eventType"]> = Extract<Event, { eventType: T }>;

const evolveStep = (
  step: Step,
  event: EventOf<"step_started" | "step_completed" | "step_failed" | "step_retrying">,
): Step => {
  switch (event.eventType) {
    case "step_started": {
      const { retryAfter: _over, ...waiting } = step;
      return change(waiting, event, {
        status: "running",
        attempt: step.attempt + 1,
        startedAt: step.startedAt ?? event.createdAt,
      });
    }
    case "step_completed":
      return change(step, event, {
        status: "completed",
        output: event.eventData.result,
        completedAt: event.createdAt,
      });
    case "step_failed":
      return change(step, event, {
        status: "failed",
        error: event.eventData.error,
        completedAt: event.createdAt,
      });
    case "step_retrying": {
      const { retryAfter: _before, ...rest } = step;
      const { error, retryAfter } = event.eventData;
      return change(rest, event, {
        status: "pending",
        error,
        ...(retryAfter !== undefined && { retryAfter }),
      });
    }
    default:
      return event satisfies never;
  }
};

const change = <T extends object, C extends object>(
  entity: T,
  { createdAt }: Event,
  changes: C,
): T & C & { updatedAt: Date } => ({ ...entity, ...changes, updatedAt: createdAt });

const endRun = (state: SdkRunState, event: Event, outcome: object): void => {
  if (state.run === undefined) return;
  state.run = change(state.run, event, { ...outcome, completedAt: event.createdAt }) as WorkflowRun;
};

const newRun = (event: EventOf<"run_created">): WorkflowRun => {
  const { deploymentId, workflowName, input, executionContext, attributes } = event.eventData;
  return {
    runId: event.runId,
    status: "pending",
    deploymentId,
    workflowName,
    ...(event.specVersion !== undefined && { specVersion: event.specVersion }),
    ...(executionContext !== undefined && { executionContext }),
    input,
    attributes: attributes ?? {},
    createdAt: event.createdAt,
    updatedAt: event.createdAt,
  };
};

const newStep = (event: EventOf<"step_created">): Step => ({
  runId: event.runId,
  stepId: event.correlationId,
  stepName: event.eventData.stepName,
  status: "pending",
  input: event.eventData.input,
  attempt: 0,
  createdAt: event.createdAt,
  updatedAt: event.createdAt,
  ...(event.specVersion !== undefined && { specVersion: event.specVersion }),
});

const newHook = (event: EventOf<"hook_created">): Hook => {
  const { token, metadata, isWebhook = false, isSystem = false } = event.eventData;
  return {
    runId: event.runId,
    hookId: event.correlationId,
    token,
    ownerId: OWNER,
    projectId: OWNER,
    environment: OWNER,
    ...(metadata !== undefined && { metadata }),
    createdAt: event.createdAt,
    ...(event.specVersion !== undefined && { specVersion: event.specVersion }),
    isWebhook,
    isSystem,
  };
};

/** The attributes after `changes`, in a new object. */
export const mergeAttributes = (
  attributes: Readonly<Record<string, string>>,
  changes: readonly AttributeChange[],
): Record<string, string> => {
  const merged = new Map(Object.entries(attributes));
  for (const { key, value } of changes) {
    if (value === null) merged.delete(key);
    else merged.set(key, value);
  }
  return Object.fromEntries(merged);
};
