/** Between the run's folded facts, whose values are encoded, and the journal's records, whose values are the author's. */
import type { RunCreated, StepSettled } from "../../events/catalogue.ts";
import { decodePayload, encodePayload } from "../../events/payload.ts";
import type { SealedState } from "../../events/sealed-value.ts";
import type { HookState, RunState, SleepState } from "../../projections/run-state.ts";
import type { HookRecord, RunRecord, SleepEntry, SleepRecord, StepEntry } from "../journal-store.ts";
import { RejectionError } from "../rejection-error.ts";

/** While it is made: both conversions happen for every step, and a spread for each optional field costs more than the rest of them. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };

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
  const { key, name, status, output, error, attempts, startedAt, finishedAt } = data;
  const entry: Writable<StepEntry> = { key, name, status, attempts, finishedAt };
  if (output !== undefined) entry.output = decodePayload(output);
  if (error !== undefined) entry.error = { message: error.message };
  if (startedAt !== undefined) entry.startedAt = startedAt;
  return entry;
};

/** Throws `PayloadError` where the output cannot be carried. */
export const settledOf = (entry: StepEntry): StepSettled["data"] => {
  const output = encodePayload(entry.output, "output");
  const { key, name, status, error, attempts, startedAt, finishedAt } = entry;
  const data: Writable<StepSettled["data"]> = { key, name, status, attempts, finishedAt };
  if (output !== undefined) data.output = output;
  if (error !== undefined) data.error = { message: error.message };
  if (startedAt !== undefined) data.startedAt = startedAt;
  return data;
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
