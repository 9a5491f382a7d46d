/** Whose a pending step is: ownership (4 cases), the lease (4), the backstop's key (5), ownership by message (3), and the dispatch. */
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  backstopIdempotencyKey,
  dispatchPendingStep,
  type Event,
  hasPendingStepOwnedByMessage,
  isStepOwnershipActive,
  ownershipLeaseSeconds,
  stepLeaseRemainingSeconds,
  stepOwnershipOf,
} from "../../src/executor/index.ts";

const LEASE = "WORKFLOW_INLINE_OWNERSHIP_LEASE_SECONDS";

afterEach(() => {
  vi.unstubAllEnvs();
});

const event = (eventType: string, correlationId: string, atMs: number, ownerMessageId?: string): Event =>
  ({
    eventType,
    correlationId,
    createdAt: new Date(atMs),
    runId: "wrun_1",
    eventId: `evnt_${atMs}`,
    eventData: { stepName: "step", ...(ownerMessageId === undefined ? {} : { ownerMessageId }) },
  }) as unknown as Event;

const created = (atMs = 0, id = "step_1") => event("step_created", id, atMs);
const started = (atMs: number, owner?: string, id = "step_1") => event("step_started", id, atMs, owner);
const retrying = (atMs: number, id = "step_1") => event("step_retrying", id, atMs);

const owned = (events: readonly Event[]) => stepOwnershipOf(events, "step_1");

describe("ownership", () => {
  it.each<[string, Event[], boolean]>([
    ["a created step with a stamped start is owned", [created(), started(1, "m1")], true],
    ["the two rows of a lazy start may come in either order", [started(1, "m1"), created()], true],
    ["a step that is not created is not owned", [started(1, "m1")], false],
    ["a step without a start is not owned", [created()], false],
    ["a start without a stamp clears the owner", [created(), started(1, "m1"), started(2)], false],
    ["the latest stamp counts", [created(), started(1), started(2, "m2")], true],
    ["a retry ends it", [created(), started(1, "m1"), retrying(2)], false],
    ["a retry ends it for good", [created(), started(1, "m1"), retrying(2), started(3, "m1")], false],
    ["another step's events do not matter", [created(), started(1, "m1"), retrying(2, "step_2")], true],
  ])("%s", (_, events, active) => {
    expect(isStepOwnershipActive(owned(events))).toBe(active);
  });

  it("tells the latest start and its owner", () => {
    expect(owned([created(), started(5, "m1"), started(9, "m2")])).toEqual({
      correlationId: "step_1",
      created: true,
      lapsed: false,
      ownerMessageId: "m2",
      lastStartedAtMs: 9,
    });
  });
});

describe("the lease", () => {
  const at = (lastStartedAtMs: number | undefined, nowMs: number): number =>
    stepLeaseRemainingSeconds(
      {
        correlationId: "s",
        created: true,
        lapsed: false,
        ...(lastStartedAtMs === undefined ? {} : { lastStartedAtMs }),
      },
      nowMs,
    );

  it.each([
    ["is full at the start", 1_000_000, 1_000_000, 860],
    ["is rounded up to whole seconds", 1_000_000, 1_000_001, 860],
    ["runs down", 1_000_000, 1_000_000 + 859_001, 1],
    ["is over after its time", 1_000_000, 1_000_000 + 860_000, 0],
    ["stays over", 1_000_000, 9_000_000_000, 0],
    ["is never longer than itself, however the clocks differ", 1_000_000, 0, 860],
    ["is over where there is no start to count from", undefined, 0, 0],
  ])("%s", (_, startedAt, now, seconds) => {
    expect(at(startedAt, now)).toBe(seconds);
  });

  it.each([
    [undefined, 860],
    ["", 860],
    ["1", 1],
    ["900", 900],
    ["0", 1],
    ["-5", 1],
    ["100000", 900],
    ["12.5", 860],
    ["soon", 860],
  ])(`with ${LEASE}=%s has %i seconds`, (value, seconds) => {
    vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    vi.stubEnv(LEASE, value);
    expect(ownershipLeaseSeconds()).toBe(seconds);
    expect(at(0, 0)).toBe(seconds);
    vi.restoreAllMocks();
  });

  it("warns once about a value that is none", () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    vi.stubEnv(LEASE, "ten minutes");
    ownershipLeaseSeconds();
    ownershipLeaseSeconds();
    expect(warn.mock.calls.map(([text]) => text)).toEqual([
      `${LEASE} is "ten minutes", which is no whole number: 860 is used. Set it between 1 and 900`,
    ]);
    vi.restoreAllMocks();
  });
});

describe("the key of a backstop", () => {
  const keyAfter = (...events: Event[]): string => backstopIdempotencyKey(owned([created(), ...events]));

  it("is the same for everybody who looks during one start", () => {
    expect(keyAfter(started(1_700, "m1"))).toBe("step_1:backstop:1700");
    expect(keyAfter(started(1_700, "m1"), event("hook_received", "hook_1", 1_800))).toBe(
      "step_1:backstop:1700",
    );
  });

  it("changes when the owner comes back and starts again", () => {
    expect(keyAfter(started(1_700, "m1"), started(2_500, "m1"))).toBe("step_1:backstop:2500");
  });

  it("is another one for another step", () => {
    expect(backstopIdempotencyKey(stepOwnershipOf([started(1_700, "m1", "step_2")], "step_2"))).toBe(
      "step_2:backstop:1700",
    );
  });

  it("is never the step's own, which the owner's retry needs", () => {
    const step = owned([created(), started(1_700, "m1")]);
    const retry = dispatchPendingStep(owned([created(), started(1_700, "m1"), retrying(1_800)]), "m2", 2_000);
    expect(retry).toEqual({ kind: "enqueue", idempotencyKey: "step_1" });
    expect(backstopIdempotencyKey(step)).not.toBe("step_1");
  });

  it("lets a backstop that fires leave the next one behind, until the lease is over", () => {
    const pending = new Set<string>();
    const send = (key: string): boolean => !pending.has(key) && pending.add(key) !== undefined;
    const events = [created(), started(0, "m1")];
    const first = dispatchPendingStep(owned(events), "m2", 10_000);
    expect(first).toEqual({ kind: "backstop", delaySeconds: 850, idempotencyKey: "step_1:backstop:0" });
    expect(send("step_1:backstop:0")).toBe(true);
    expect(send("step_1:backstop:0")).toBe(false);
    events.push(started(500_000, "m1"));
    const fired = dispatchPendingStep(owned(events), "backstop", 860_000);
    expect(fired).toEqual({ kind: "backstop", delaySeconds: 500, idempotencyKey: "step_1:backstop:500000" });
    expect(send("step_1:backstop:500000")).toBe(true);
    expect(dispatchPendingStep(owned(events), "second", 1_360_000)).toEqual({
      kind: "enqueue",
      idempotencyKey: "step_1",
    });
  });
});

describe("a message", () => {
  const pending = new Set(["step_1", undefined]);

  it("owns a pending step that its own start stamped last", () => {
    expect(hasPendingStepOwnedByMessage([created(), started(1, "m1")], pending, "m1")).toBe(true);
    expect(hasPendingStepOwnedByMessage([created(), started(1, "m1"), started(2)], pending, "m1")).toBe(
      false,
    );
  });

  it("does not own another message's step, or one that is not pending", () => {
    expect(hasPendingStepOwnedByMessage([created(), started(1, "m1")], pending, "m2")).toBe(false);
    expect(
      hasPendingStepOwnedByMessage([created(0, "step_2"), started(1, "m1", "step_2")], pending, "m1"),
    ).toBe(false);
    expect(hasPendingStepOwnedByMessage([], new Set(), "m1")).toBe(false);
  });

  it("does not own a step that was retried", () => {
    expect(hasPendingStepOwnedByMessage([created(), started(1, "m1"), retrying(2)], pending, "m1")).toBe(
      false,
    );
  });
});

describe("a pending step", () => {
  const events = [created(), started(1_000, "m1")];

  it("is recovered by its owner, whatever is left of the lease", () => {
    expect(dispatchPendingStep(owned(events), "m1", 9_000_000_000)).toEqual({ kind: "recover" });
  });

  it("is sent at once when nobody owns it", () => {
    expect(dispatchPendingStep(owned([created()]), "m1", 1_000)).toEqual({
      kind: "enqueue",
      idempotencyKey: "step_1",
    });
  });

  it.each([["0"], ["false"]])("with WORKFLOW_INLINE_OWNERSHIP=%s is always sent at once", (value) => {
    vi.stubEnv("WORKFLOW_INLINE_OWNERSHIP", value);
    for (const messageId of ["m1", "m2"]) {
      expect(dispatchPendingStep(owned(events), messageId, 1_000)).toEqual({
        kind: "enqueue",
        idempotencyKey: "step_1",
      });
    }
  });
});
