/**
 * What a run did, what it is waiting for and until when, and which bodies may have run more than once: the answers an operator
 * wants first, as JSON, from the run's timeline.
 */

import type { HistoryEntry } from "./history.ts";
import type { ListedStatus } from "./run-state.ts";
import type { Timeline } from "./timeline.ts";
import { timelineOf } from "./timeline.ts";

export type Awaited =
  | { readonly kind: "sleep"; readonly key: string; readonly until: number; readonly correlationId?: string }
  | {
      readonly kind: "hook";
      readonly key: string;
      readonly token: string;
      readonly since: number;
      readonly until?: number;
    }
  /** A person's answer to a thread's question. */
  | {
      readonly kind: "question";
      /** The question's id. */
      readonly key: string;
      readonly reason: string;
      readonly since: number;
      readonly until?: never;
    };

export interface RunReport {
  readonly workflow: string;
  /** Set where this is a thread. */
  readonly thread?: true;
  /** Set where this is a run of the Workflow SDK. */
  readonly sdk?: true;
  readonly status: ListedStatus;
  /** Why it failed, or was cancelled. */
  readonly reason?: string;
  readonly createdAt?: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** From creation to the end. */
  readonly durationMs?: number;
  /** From creation to the first charge for a step. */
  readonly timeToFirstStepMs?: number;
  readonly steps: { readonly ok: number; readonly failed: number; readonly running: number };
  /** Retries that were recorded, over all steps. */
  readonly retries: number;
  /** Open waits, soonest deadline first; those without one come last. Empty for a run that is over. */
  readonly waitingFor: readonly Awaited[];
  /** Steps whose body more than one walk was free to begin before the verdict: a worker died in it, or two ran at once. */
  readonly begunAgain: readonly { readonly key: string; readonly name: string; readonly begun: number }[];
}

/** The report of a history, or of a prefix of it. Instants in epoch milliseconds. */
export const runReport = (history: Iterable<HistoryEntry>): RunReport => reportOf(timelineOf(history));

/** The report of a timeline that is at hand already. */
export const reportOf = (timeline: Timeline): RunReport => {
  const { workflow, thread, sdk, status, reason, createdAt, startedAt, endedAt } = timeline;
  const steps = timeline.rows.filter((row) => row.kind === "step");
  const firstClaim = earliest(steps.flatMap(({ claims }) => claims.map(({ at }) => at)));
  return {
    workflow,
    ...(thread === undefined ? {} : { thread }),
    ...(sdk === undefined ? {} : { sdk }),
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(createdAt === undefined ? {} : { createdAt }),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(createdAt === undefined || endedAt === undefined ? {} : { durationMs: endedAt - createdAt }),
    ...(createdAt === undefined || firstClaim === undefined
      ? {}
      : { timeToFirstStepMs: firstClaim - createdAt }),
    steps: {
      ok: steps.filter((step) => step.status === "ok").length,
      failed: steps.filter((step) => step.status === "failed").length,
      running: steps.filter((step) => step.status === "running").length,
    },
    retries: steps.reduce((sum, { retries }) => sum + retries.length, 0),
    waitingFor: endedAt === undefined ? awaitedBy(timeline) : [],
    begunAgain: steps
      // An attempt of the SDK's that is made after a failure was recorded is no second beginning.
      .filter(({ begun, retries }) => begun - (sdk ? retries.length : 0) > 1)
      .map(({ key, name, begun }) => ({ key, name, begun })),
  };
};

const awaitedBy = ({ rows, status }: Timeline): Awaited[] => {
  const open: Awaited[] = [];
  for (const row of rows) {
    if (row.kind === "sleep" && row.status === "waiting") {
      const { key, wakeAt, correlationId } = row;
      open.push({
        kind: "sleep",
        key,
        until: wakeAt,
        ...(correlationId === undefined ? {} : { correlationId }),
      });
    } else if (row.kind === "hook" && row.status === "open") {
      const { key, token, openedAt, deadline } = row;
      open.push({
        kind: "hook",
        key,
        token,
        since: openedAt,
        ...(deadline === undefined ? {} : { until: deadline }),
      });
    } else if (row.kind === "question" && row.status === "open" && status === "awaiting_input") {
      open.push({ kind: "question", key: row.key, reason: row.reason, since: row.askedAt });
    }
  }
  const until = (wait: Awaited): number => wait.until ?? Number.POSITIVE_INFINITY;
  return open.sort((a, b) => (until(a) === until(b) ? 0 : until(a) - until(b)));
};

const earliest = (instants: readonly number[]): number | undefined =>
  instants.length === 0 ? undefined : instants.reduce((a, b) => Math.min(b, a));
