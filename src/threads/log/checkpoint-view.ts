/**
 * A checkpoint as an object, made from its place in the fold. What costs as much as the thread has steps (state, answers) is decoded
 * when it is asked for, so that a long history is cheap to list.
 *
 * Every object has values of its own: nobody reaches the fold through them.
 */
import { assertReadable } from "../../engine/journal/records.ts";
import { decodePayload, type Payload } from "../../events/payload.ts";
import type { ThreadCheckpoint, ThreadLife } from "../../projections/thread-state.ts";
import type { GraphCheckpoint, PendingInterrupt, StoredGraphCheckpoint } from "../graph-types.ts";
import { migrateCheckpoint, toCheckpoint } from "../migration.ts";
import type { StepRecord } from "../recorded-steps.ts";

/**
 * `read` says what a payload stands for. Default: the value that was stored, decoded anew each time; what is sealed is refused.
 *
 * @throws RejectionError `PayloadsErased` or `PayloadsLocked`, by default, for a thread whose payloads are sealed.
 */
export const viewCheckpoint = (
  threadId: string,
  place: ThreadCheckpoint,
  read: ReadPayload = openedBy(threadId),
): GraphCheckpoint => {
  const wholeOf = (value: Payload): StoredGraphCheckpoint => read(value) as StoredGraphCheckpoint;
  if (place.whole !== undefined) {
    const whole = wholeOf(place.whole);
    if (place.whole.sealed === undefined) return migrateCheckpoint(whole);
  }
  const { step, status, workflow, metadata, life, error, drained, at } = place;
  const base = once(() => (life.base === undefined ? undefined : wholeOf(life.base)));
  const checkpoint = toCheckpoint({
    threadId,
    step,
    state: {},
    next: status === "completed" ? [] : [workflow],
    status,
    interrupts: questionsOf(place, read),
    resolved: {},
    ...(error !== undefined && { error: { ...error } }),
    ...(drained !== undefined && { drained: { ...drained } }),
    createdAt: new Date(at).toISOString(),
    metadata: read(metadata) as Record<string, unknown>,
  });
  whenAsked(checkpoint, "state", () => stateOf(place, base()?.state, read));
  whenAsked(checkpoint, "resolved", () =>
    record(
      base()?.resolved,
      life.answers.slice(0, place.answers).map(({ id, answer }) => [id, read(answer)]),
    ),
  );
  const known = knownOf(life, place.asked);
  if (known.length > 0 || mayHold(life.base, "asked"))
    whenAsked(checkpoint, "asked", () => record(base()?.asked, known));
  return checkpoint;
};

const openedBy =
  (threadId: string): ReadPayload =>
  (payload) => {
    assertReadable(threadId, payload?.sealed);
    return decodePayload(payload);
  };

type ReadPayload = (payload: Payload | undefined) => unknown;

/** Without decoding it: an object with odd keys is stored as a list of its entries. */
const mayHold = (value: Payload | undefined, field: string): boolean =>
  typeof value?.json === "object" &&
  value.json !== null &&
  (Array.isArray(value.json) || Object.hasOwn(value.json, field));

const questionsOf = (
  { life, waitsFrom, asked, workflow, step }: ThreadCheckpoint,
  read: ReadPayload,
): PendingInterrupt[] =>
  life.asked.slice(waitsFrom, asked).map(({ id, question, at }, index) => {
    const value = read(question);
    if (question.sealed === undefined) return value as PendingInterrupt;
    return {
      id,
      reason: question.sealed,
      node: workflow,
      step,
      index,
      requestedAt: new Date(at).toISOString(),
    };
  });

const knownOf = ({ asked }: ThreadLife, upTo: number): [string, string][] => {
  const known: [string, string][] = [];
  for (const { id, knownBy } of asked.slice(0, upTo)) if (knownBy !== undefined) known.push([id, knownBy]);
  return known;
};

const stateOf = (
  { life, steps, output }: ThreadCheckpoint,
  base: Record<string, unknown> | undefined,
  read: ReadPayload,
): Record<string, unknown> => {
  const input = base === undefined ? read(life.input) : base.input;
  const settled = life.steps
    .slice(0, steps)
    .map(({ key, output: value, recovered }): [string, StepRecord] => [
      key,
      {
        ...(value !== undefined && { value: read(value) }),
        ...(recovered !== undefined && { recovered: { ...recovered, error: { ...recovered.error } } }),
      },
    ]);
  return {
    input,
    steps: record(base?.steps as Record<string, StepRecord> | undefined, settled),
    ...(output !== undefined && { output: read(output) }),
  };
};

/** An object with the entries of `base` and then those given. Any key will do, `__proto__` as well. */
const record = <V>(
  base: Readonly<Record<string, V>> = {},
  entries: readonly [string, V][],
): Record<string, V> => Object.fromEntries([...Object.entries(base), ...entries]);

const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
};

/** Gives `object` a field that is made when it is first read, and is an ordinary one from then on. */
const whenAsked = <T extends object, K extends keyof T & string>(
  object: T,
  field: K,
  make: () => T[K],
): void => {
  const settle = (value: T[K]): T[K] => {
    Object.defineProperty(object, field, { value, writable: true, enumerable: true, configurable: true });
    return value;
  };
  Object.defineProperty(object, field, {
    get: () => settle(make()),
    set: settle,
    enumerable: true,
    configurable: true,
  });
};
