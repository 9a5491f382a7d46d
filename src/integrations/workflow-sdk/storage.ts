/**
 * The storage of the World: runs, steps, hooks and events, all of them read from the streams of runs. Nothing but `events.create`
 * changes anything.
 *
 * Not here: which events are accepted (decide.ts), what they make (run-fold.ts).
 */
import { isLeft } from "fp-ts/lib/Either.js";
import type { EventLog } from "../../events/event-log.ts";
import { sdkNameOf } from "../../events/sdk-runs.ts";
import { StoreError } from "../../events/store-error.ts";
import { RUN_PREFIX, runStream } from "../../events/stream-names.ts";
import type { Storage } from "../../executor/world.ts";
import type {
  Hook,
  Step,
  StepWithoutData,
  WorkflowRun,
  WorkflowRunWithoutData,
} from "../../executor/world-entities.ts";
import {
  HookNotFoundError,
  WorkflowRunNotFoundError,
  WorkflowWorldError,
} from "../../executor/world-errors.ts";
import type {
  CreateEventParams,
  Event,
  EventResult,
  PaginatedResponse,
  PaginationOptions,
  ResolveData,
} from "../../executor/world-events.ts";
import type { RunIndex } from "../../projections/run-index.ts";
import { decideEvent } from "./decide.ts";
import { fromStored, resolved } from "./event-form.ts";
import { fresh } from "./fresh.ts";
import { newRunId, runIdFault } from "./ids.ts";
import { listedHooks, listedRuns } from "./lists.ts";
import { MAX_PAGE, pageOf } from "./pages.ts";
import type { AnyRequest } from "./requests.ts";
import { liveHook, type SdkRunState } from "./run-fold.ts";
import type { SessionPool } from "./session-pool.ts";
import { reserveToken, type StateOf, tokenHolder } from "./tokens.ts";

/** What a page of steps and hooks holds unless told; of events it is {@link MAX_PAGE}. */
const PAGE = 20;

/** The store and what is known of it; opened at the first use. */
export interface Records {
  readonly log: EventLog;
  readonly runs: SessionPool<SdkRunState, Event>;
  readonly index: () => RunIndex;
}

export interface StorageOptions {
  readonly open: () => Promise<Records>;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

export const createStorage = ({ open, clock }: StorageOptions): Storage => {
  const stateOf = async (runId: string): Promise<SdkRunState> => {
    const { runs } = await open();
    return runs.get(runStream(runId)).current();
  };

  const create = async (
    id: string | null,
    event: AnyRequest,
    params: CreateEventParams = {},
  ): Promise<EventResult> => {
    const { log, runs } = await open();
    const now = clock();
    const runId = runIdFor(id, event, now);
    const session = runs.get(runStream(runId));
    const request = { runId, event, params, now };
    const creates = event.eventType === "run_created";
    if (event.eventType !== "hook_created") {
      const result = await session.propose(decideEvent(request), { creates });
      return finish(result, event, params, session.state);
    }
    // A refusal must not reserve anything.
    const refusal = decideEvent(request)(await session.current());
    if (isLeft(refusal)) throw refusal.left;
    const hook = { runId, hookId: event.correlationId };
    const holder = await reserveToken(log, stateOf, event.eventData.token, hook, now);
    const decide = decideEvent({ ...request, ...(holder !== undefined && { tokenHeldBy: holder.runId }) });
    return finish(await session.propose(decide), event, params, session.state);
  };

  return {
    runs: { get: runGetter(stateOf), list: runLister(open) },
    steps: { get: stepGetter(stateOf), list: stepLister(stateOf) },
    events: {
      create: create as Storage["events"]["create"],
      async get(runId, eventId, { resolveData } = {}) {
        const event = (await stateOf(runId)).events.find((one) => one.eventId === eventId);
        if (event === undefined)
          throw new WorkflowWorldError(`Event ${eventId} of run ${runId} not found.`, { status: 404 });
        return fresh(resolved(event, resolveData));
      },
      list: async ({ runId, pagination = {}, resolveData }) =>
        eventPage((await stateOf(runId)).events, pagination, resolveData),
      async listByCorrelationId({ correlationId, pagination = {}, resolveData }) {
        const { log } = await open();
        return eventPage(await eventsAbout(log, correlationId), pagination, resolveData);
      },
    },
    hooks: {
      async get(hookId, { resolveData } = {}) {
        const { index } = await open();
        const listed = await index().sdk.hook(hookId);
        const hook = listed === undefined ? undefined : liveHook(await stateOf(listed.runId), hookId);
        if (hook === undefined) throw new HookNotFoundError(hookId);
        return hookWith(hook, resolveData);
      },
      async getByToken(token, { resolveData } = {}) {
        const { log } = await open();
        const holder = await tokenHolder(log, token);
        const hook = holder === undefined ? undefined : liveHook(await stateOf(holder.runId), holder.hookId);
        if (hook === undefined) throw new HookNotFoundError(token);
        return hookWith(hook, resolveData);
      },
      async list({ runId, pagination = {}, resolveData }) {
        const page =
          runId === undefined
            ? await listedHooks((await open()).index(), stateOf, pagination, PAGE)
            : hooksOf(await stateOf(runId), pagination);
        return { ...page, data: page.data.map((hook) => hookWith(hook, resolveData)) };
      },
    },
  };
};

const runIdFor = (id: string | null, event: AnyRequest, now: number): string => {
  if (event.eventType !== "run_created") {
    if (id === null || id === "")
      throw new WorkflowWorldError(`${event.eventType} is an event of a run: name the run.`, { status: 400 });
    return id;
  }
  if (id === null || id === "") return newRunId(now);
  const fault = runIdFault(id, now);
  if (fault !== undefined) throw new WorkflowWorldError(fault, { status: 400 });
  return id;
};

/** Adds the events that the caller asked for: all of them at a run's start, those it has not seen at a step's end. */
const finish = (
  result: EventResult,
  { eventType }: AnyRequest,
  { resolveData, sinceCursor, skipPreload }: CreateEventParams,
  state: SdkRunState,
): EventResult => {
  const answer: EventResult = fresh(
    result.event === undefined ? result : { ...result, event: resolved(result.event, resolveData) },
  );
  const ends = eventType === "step_completed" || eventType === "step_failed";
  const starts = eventType === "run_started" && skipPreload !== true;
  if (!starts && !(ends && sinceCursor !== undefined)) return answer;
  const { data, cursor, hasMore } = eventPage(
    state.events,
    ends && sinceCursor !== undefined ? { cursor: sinceCursor } : {},
    resolveData,
  );
  return { ...answer, events: data, cursor, hasMore };
};

const eventPage = (
  events: readonly Event[],
  pagination: PaginationOptions,
  resolveData: ResolveData | undefined,
): PaginatedResponse<Event> => {
  const page = pageOf(events, pagination, {
    limit: MAX_PAGE,
    descending: pagination.sortOrder === "desc",
  });
  return { ...page, data: page.data.map((event) => fresh(resolved(event, resolveData))) };
};

/** A look through the whole log: the SDK asks for this only where people look at runs. */
const eventsAbout = async (log: EventLog, correlationId: string): Promise<Event[]> => {
  const found: Event[] = [];
  for await (const recorded of log.readAll({ filter: { streamPrefix: RUN_PREFIX } })) {
    if (sdkNameOf(recorded.type) === undefined || recorded.data.correlationId !== correlationId) continue;
    const decoded = fromStored(recorded);
    if (isLeft(decoded)) throw StoreError.corrupt(decoded.left.message, decoded.left);
    found.push(decoded.right);
  }
  return found;
};

const runWith = (
  run: WorkflowRun,
  resolveData: ResolveData | undefined,
): WorkflowRun | WorkflowRunWithoutData =>
  fresh(resolveData === "none" ? { ...run, input: undefined, output: undefined } : run);

const stepWith = (step: Step, resolveData: ResolveData | undefined): Step | StepWithoutData =>
  fresh(resolveData === "none" ? { ...step, input: undefined, output: undefined } : step);

const hookWith = (hook: Hook, resolveData: ResolveData | undefined): Hook => {
  if (resolveData !== "none") return fresh(hook);
  const { metadata: _payload, ...rest } = hook;
  return fresh(rest);
};

const runGetter = (stateOf: StateOf): Storage["runs"]["get"] =>
  (async (runId: string, { resolveData }: { resolveData?: ResolveData } = {}) => {
    const { run } = await stateOf(runId);
    if (run === undefined) throw new WorkflowRunNotFoundError(runId);
    return runWith(run, resolveData);
  }) as Storage["runs"]["get"];

type ListRuns = Exclude<Parameters<Storage["runs"]["list"]>[0], undefined>;

const runLister = (open: () => Promise<Records>): Storage["runs"]["list"] =>
  (async ({ workflowName, status, pagination = {}, resolveData }: ListRuns = {}) => {
    const { log, index } = await open();
    const page = await listedRuns(log, index(), { workflowName, status }, pagination);
    return { ...page, data: page.data.map((run) => runWith(run, resolveData)) };
  }) as Storage["runs"]["list"];

const stepGetter = (stateOf: StateOf): Storage["steps"]["get"] =>
  (async (runId: string, stepId: string, { resolveData }: { resolveData?: ResolveData } = {}) => {
    const step = (await stateOf(runId)).steps.get(stepId);
    if (step === undefined)
      throw new WorkflowWorldError(`Step ${stepId} of run ${runId} not found.`, { status: 404 });
    return stepWith(step, resolveData);
  }) as Storage["steps"]["get"];

type ListSteps = Parameters<Storage["steps"]["list"]>[0];

const stepLister = (stateOf: StateOf): Storage["steps"]["list"] =>
  (async ({ runId, pagination = {}, resolveData }: ListSteps) => {
    const steps = [...(await stateOf(runId)).steps.values()];
    const descending = pagination.sortOrder !== "asc";
    const page = pageOf(steps, pagination, { limit: PAGE, descending });
    return { ...page, data: page.data.map((step) => stepWith(step, resolveData)) };
  }) as Storage["steps"]["list"];

/** Hooks that are gone keep their places, so that a cursor stays true while others go. */
const hooksOf = (state: SdkRunState, pagination: PaginationOptions): PaginatedResponse<Hook> => {
  const hooks = [...state.hooks.values()].map(({ hook }) => liveHook(state, hook.hookId));
  const descending = pagination.sortOrder !== "asc";
  const keep = (hook: Hook | undefined): boolean => hook !== undefined;
  return pageOf(hooks, pagination, { limit: PAGE, descending, keep }) as PaginatedResponse<Hook>;
};
