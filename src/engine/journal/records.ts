/** Between the run's folded facts, whose values are encoded, and the journal's records, whose values are the author's. */
import type { RunCreated, StepSettled } from "../../events/catalogue.ts";
import { decodePayload, encodePayload } from "../../events/payload.ts";
import type { SealedState } from "../../events/sealed-value.ts";
import type { HookState, RunState, SleepState } from "../../projections/run-state.ts";
import type { HookRecord, RunRecord, SleepEntry, SleepRecord, StepEntry } from "../journal-store.ts";
import { RejectionError } from "../rejection-error.ts";

/** Throws {@link RejectionError} where something is sealed: a walk must not go on from what only stands for a value. */
export const assertReadable = (runId: string, sealed: SealedState | undefined): void => {
  if (sealed !== undefined)
    throw new RejectionError(sealed === "erased" ? "PayloadsErased" : "PayloadsLocked", runId);
};

/** Input and output are a `SealedPayload` where they are sealed: a record is what people look at. */
export const recordOf = (runId: string, state: RunState): RunRecord | undefined => {
  const { created } = state;
  if (created === undefined) return undefined;
  return {
    runId,
    workflow: created.workflow,
    status: state.status,
    createdAt: created.createdAt,
    input: decodePayload(created.input),
    ...(state.output !== undefined && { output: decodePayload(state.output) }),
    ...(state.error !== undefined && { error: { message: state.error.message } }),
    ...(created.codeVersion !== undefined && { codeVersion: created.codeVersion }),
  };
};

/** Open-ended facts about a run that the journal's record has no place for. */
export type RunAttributes = Pick<RunCreated["data"], "key" | "tenant" | "metadata">;

export const createdOf = (record: RunRecord, attributes: RunAttributes): RunCreated["data"] => {
  const input = encodePayload(record.input, "input");
  return {
    workflow: record.workflow,
    createdAt: record.createdAt,
    ...(input !== undefined && { input }),
    ...(record.codeVersion !== undefined && { codeVersion: record.codeVersion }),
    ...attributes,
  };
};

/** Throws {@link RejectionError} where the result is sealed. */
export const entryOf = (runId: string, data: StepSettled["data"]): StepEntry => {
  assertReadable(runId, data.output?.sealed ?? data.error?.sealed);
  return {
    key: data.key,
    name: data.name,
    status: data.status,
    ...(data.output !== undefined && { output: decodePayload(data.output) }),
    ...(data.error !== undefined && { error: { message: data.error.message } }),
    attempts: data.attempts,
    ...(data.startedAt !== undefined && { startedAt: data.startedAt }),
    finishedAt: data.finishedAt,
  };
};

/** Throws `PayloadError` where the output cannot be carried. */
export const settledOf = (entry: StepEntry): StepSettled["data"] => {
  const output = encodePayload(entry.output, "output");
  return {
    key: entry.key,
    name: entry.name,
    status: entry.status,
    ...(output !== undefined && { output }),
    ...(entry.error !== undefined && { error: { message: entry.error.message } }),
    attempts: entry.attempts,
    ...(entry.startedAt !== undefined && { startedAt: entry.startedAt }),
    finishedAt: entry.finishedAt,
  };
};

/** All settled steps by `finishedAt`, then key. */
export const entriesOf = (runId: string, state: RunState): StepEntry[] =>
  [...state.steps.values()]
    .map((data) => entryOf(runId, data))
    .sort((a, b) => a.finishedAt - b.finishedAt || byCodeUnit(a.key, b.key));

export const sleepRecordOf = (sleep: SleepState): SleepRecord => ({
  wakeAt: sleep.wakeAt,
  woken: sleep.over === "woken",
  ...(sleep.correlationId !== undefined && { correlationId: sleep.correlationId }),
  kind: sleep.kind,
});

export const sleepsOf = (state: RunState): SleepEntry[] =>
  [...state.sleeps.entries()]
    .map(([key, sleep]) => ({ key, ...sleepRecordOf(sleep) }))
    .sort((a, b) => byCodeUnit(a.key, b.key));

/** Throws {@link RejectionError} where the payload is sealed. */
export const hookRecordOf = (runId: string, hook: HookState): HookRecord => {
  assertReadable(runId, hook.payload?.sealed);
  return {
    token: hook.token,
    delivered: hook.status === "delivered",
    closed: hook.status === "closed",
    ...(hook.payload !== undefined && { payload: decodePayload(hook.payload) }),
  };
};

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
