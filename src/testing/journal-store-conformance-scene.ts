/**
 * What a conformance case works with: the store under test, names nobody else uses, a clock it may set, and the two equalities.
 *
 * - S1 Every id is new, also between processes that test the same database: all begin with the suite's own random text.
 * - S2 `at` puts `Date.now` back whatever happens in it. A store that reads another clock fails the cases that use it.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { inspect, isDeepStrictEqual } from "node:util";
import type { JournalStore, RunRecord, StepEntry } from "../engine/journal-store.ts";

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

export interface Scene {
  readonly store: JournalStore;
  /** Whether the store's owner says that it can enumerate the runs owed a delivery. */
  readonly resumable: boolean;
  /** An id that occurs nowhere else; `what` makes it readable in failure messages. */
  readonly id: (what?: string) => string;
  /** Creates a run of `{ workflow: "conformance", status: "pending", input: { topic } }`, changed by `over`, and answers its id. */
  readonly newRun: (over?: Partial<RunRecord>) => Promise<string>;
}

export interface JournalCase {
  readonly name: string;
  readonly needsResume: boolean;
  readonly check: (scene: Scene) => Promise<void>;
}

export interface JournalCaseGroup {
  readonly title: string;
  readonly cases: readonly JournalCase[];
}

export const journalCase = (
  label: number | string,
  promise: string,
  check: JournalCase["check"],
): JournalCase => ({
  name: typeof label === "number" ? `case ${label}: ${promise}` : `${label}: ${promise}`,
  needsResume: false,
  check,
});

/** A case about `resumableRuns`, which a store may leave out. */
export const resumeCase = (
  label: number | string,
  promise: string,
  check: JournalCase["check"],
): JournalCase => ({
  ...journalCase(label, promise, check),
  needsResume: true,
});

/** Makes the scene of one suite; all cases share it. */
export const makeScene = (store: JournalStore, resumable: boolean): Scene => {
  const prefix = `c${randomBytes(6).toString("hex")}`;
  let next = 0;
  const id: Scene["id"] = (what = "id") => `${prefix}-${what}-${next++}`;
  return {
    store,
    resumable,
    id,
    newRun: async (over = {}) => {
      const runId = over.runId ?? id("run");
      await store.createRun({ ...aRun(runId), ...over });
      return runId;
    },
  };
};

export const aRun = (runId: string): RunRecord => ({
  runId,
  workflow: "conformance",
  status: "pending",
  createdAt: Date.now(),
  input: { topic: "conformance" },
});

/** A step that went well, changed by `over`. */
export const aStep = (key: string, over: Partial<StepEntry> = {}): StepEntry => ({
  key,
  name: key.slice(0, key.lastIndexOf("#")),
  status: "ok",
  output: { ok: true },
  attempts: 1,
  finishedAt: Date.now(),
  ...over,
});

/** Runs `work` while the process's clock stands at `instant` (epoch milliseconds). */
export const at = async <T>(instant: number, work: () => Promise<T>): Promise<T> => {
  const real = Date.now;
  Date.now = () => instant;
  try {
    return await work();
  } finally {
    Date.now = real;
  }
};

/** The run record, which must be there. */
export const theRun = async (store: JournalStore, runId: string): Promise<RunRecord> => {
  const record = await store.getRun(runId);
  assert.ok(
    record !== undefined,
    `getRun(${JSON.stringify(runId)}) answered undefined for a run that was created`,
  );
  return record;
};

/** The answers of calls that were all begun before any of them was awaited. */
export const together = <T>(...calls: readonly (() => Promise<T>)[]): Promise<T[]> =>
  Promise.all(calls.map((call) => call()));

const KIND = Symbol("kind");

const setOwn = (target: object, key: PropertyKey, value: unknown): void => {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
};

// Errors and URLs are described, because whether their parts are own properties is nobody's promise; a Buffer is bytes like any other.
const described = (value: unknown, keepUndefined: boolean): unknown => {
  const again = (inner: unknown): unknown => described(inner, keepUndefined);
  if (value === null || typeof value !== "object") return value;
  if (value instanceof Error) return { [KIND]: "Error", name: value.name, message: value.message };
  if (value instanceof URL) return { [KIND]: "URL", href: value.href };
  if (value instanceof Date) return new Date(value.getTime());
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  if (Array.isArray(value)) return value.map(again);
  if (value instanceof Map) return new Map([...value].map(([k, v]) => [again(k), again(v)]));
  if (value instanceof Set) return new Set([...value].map(again));
  const plain = {};
  for (const [key, inner] of Object.entries(value)) {
    if (inner !== undefined || keepUndefined) setOwn(plain, key, again(inner));
  }
  return plain;
};

// Shown in part only: a full comparison of two megabytes that differ takes minutes to write.
const shown = (value: unknown): string =>
  inspect(value, { depth: 6, maxArrayLength: 20, maxStringLength: 200, sorted: true, breakLength: 110 });

const compare = (actual: unknown, expected: unknown, what: string, keepUndefined: boolean): void => {
  const [a, b] = [described(actual, keepUndefined), described(expected, keepUndefined)];
  if (isDeepStrictEqual(a, b)) return;
  throw new assert.AssertionError({
    message: `${what} is not what it should be\n  actual: ${shown(a)}\nexpected: ${shown(b)}`,
    actual: shown(a),
    expected: shown(b),
    operator: "deepStrictEqual",
  });
};

/** Equal as records are: a field that is `undefined` and one that is absent mean the same; `null` means something else. */
export const same = (actual: unknown, expected: unknown, what = "the answer"): void =>
  compare(actual, expected, what, false);

/** Equal as values are that an author handed over (law L6): also the `undefined` within them counts. */
export const identical = (actual: unknown, expected: unknown, what = "the value"): void =>
  compare(actual, expected, what, true);
