/**
 * Whose a started step is. The invocation that runs a step inline stamps its start with the id of its own queue message; as long as
 * that message lives it will be delivered again after a crash, and nobody else needs to run the step. Everybody else who meets the step
 * leaves a delayed wake behind, the backstop, for the case that the owner never comes back.
 *
 * Invariants:
 * - O1 The owner is what the latest `step_started` says; one without a stamp clears it.
 * - O2 After a `step_retrying` a step belongs to the queue, for good.
 * - O3 The backstop's key changes with every start: a backstop that fires may leave another behind, which its own key would swallow;
 *   and it is never the step's own key, or it would swallow the owner's hand-over for a retry.
 */
import { flag, wholeNumber } from "./environment.ts";
import type { Event } from "./world-events.ts";

const LEASE_DEFAULT_S = 860;
const LEASE_MAX_S = 900;

/** A started or created step, as its events tell. */
export interface StepOwnership {
  readonly correlationId: string;
  readonly created: boolean;
  readonly ownerMessageId?: string;
  /** A retry was seen. */
  readonly lapsed: boolean;
  /** The latest start, by the World's clock, in epoch milliseconds. */
  readonly lastStartedAtMs?: number;
}

/** How long an owner is waited for, in seconds: `WORKFLOW_INLINE_OWNERSHIP_LEASE_SECONDS`, between 1 and 900, default 860. */
export const ownershipLeaseSeconds = (): number =>
  wholeNumber("WORKFLOW_INLINE_OWNERSHIP_LEASE_SECONDS", LEASE_DEFAULT_S, 1, LEASE_MAX_S);

/** Whose the step is, from the run's events, oldest first. */
export const stepOwnershipOf = (events: readonly Event[], correlationId: string): StepOwnership => {
  let created = false;
  let lapsed = false;
  let ownerMessageId: string | undefined;
  let lastStartedAtMs: number | undefined;
  for (const event of events) {
    if (event.correlationId !== correlationId) continue;
    if (event.eventType === "step_created") created = true;
    if (event.eventType === "step_retrying") lapsed = true;
    if (event.eventType === "step_started") {
      ownerMessageId = event.eventData?.ownerMessageId;
      lastStartedAtMs = event.createdAt.getTime();
    }
  }
  return {
    correlationId,
    created,
    lapsed,
    ...(ownerMessageId === undefined ? {} : { ownerMessageId }),
    ...(lastStartedAtMs === undefined ? {} : { lastStartedAtMs }),
  };
};

/** Whether somebody owns the step. */
export const isStepOwnershipActive = ({ created, ownerMessageId, lapsed }: StepOwnership): boolean =>
  created && ownerMessageId !== undefined && !lapsed;

/** What is left of the owner's time, in whole seconds, rounded up: 0 once it is over or when there is no start to count from. */
export const stepLeaseRemainingSeconds = ({ lastStartedAtMs }: StepOwnership, nowMs: number): number => {
  if (lastStartedAtMs === undefined) return 0;
  const lease = ownershipLeaseSeconds();
  return Math.min(lease, Math.max(0, Math.ceil((lastStartedAtMs + lease * 1000 - nowMs) / 1000)));
};

/** The idempotency key of a step's backstop. */
export const backstopIdempotencyKey = ({ correlationId, lastStartedAtMs }: StepOwnership): string =>
  `${correlationId}:backstop:${lastStartedAtMs}`;

/** Whether this message owns one of these steps, by the run's events, oldest first. */
export const hasPendingStepOwnedByMessage = (
  events: readonly Event[],
  pendingCorrelationIds: ReadonlySet<string | undefined>,
  messageId: string,
): boolean =>
  [...pendingCorrelationIds].some((id) => {
    if (id === undefined) return false;
    const { ownerMessageId, lapsed } = stepOwnershipOf(events, id);
    return ownerMessageId === messageId && !lapsed;
  });

/** What an invocation does about a pending step that is not in its own batch. */
export type PendingStepDispatch =
  /** It is its own: run it now, with a start that says so again. */
  | { readonly kind: "recover" }
  /** Somebody else is at it: wake the run later. */
  | { readonly kind: "backstop"; readonly delaySeconds: number; readonly idempotencyKey: string }
  /** Nobody is: send the step to the queue. */
  | { readonly kind: "enqueue"; readonly idempotencyKey: string };

/** That decision. `WORKFLOW_INLINE_OWNERSHIP=0` makes it always `enqueue`. */
export const dispatchPendingStep = (
  step: StepOwnership,
  messageId: string,
  nowMs: number,
): PendingStepDispatch => {
  const enqueue = { kind: "enqueue", idempotencyKey: step.correlationId } as const;
  if (flag("WORKFLOW_INLINE_OWNERSHIP") === false || !isStepOwnershipActive(step)) return enqueue;
  if (step.ownerMessageId === messageId) return { kind: "recover" };
  const delaySeconds = stepLeaseRemainingSeconds(step, nowMs);
  return delaySeconds > 0
    ? { kind: "backstop", delaySeconds, idempotencyKey: backstopIdempotencyKey(step) }
    : enqueue;
};
