/**
 * Law L9: what is not the body's to catch. A body that catches everything and goes on leaves the very log that a body leaves which catches
 * its own failures only: on a store that fails at any append, on a token that another run holds, on a call that is refused in a step, and on an
 * abort in the middle of a step.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JournalConflictError } from "../../src/engine/journal-conflict-error.ts";
import { Refusal } from "../../src/engine/refusals.ts";
import { FatalError, stepSignal } from "../../src/index.ts";
import { createFaultLog, type FaultLog, UNAVAILABLE } from "./fault-log.ts";
import { streamOf, workerOn } from "./log-order-replay.ts";
import { type Body, type Ctx, scene, soon } from "./scene.ts";

const OPS = [
  "step",
  "fails",
  "nested",
  "now",
  "sleep",
  "window",
  "taken",
  "sleeps in a step",
  "reads in a step",
] as const;
type Op = (typeof OPS)[number];
/** How a body takes what is thrown: it swallows its own failures, or all of it. */
type Taking = (error: unknown) => void;

const all: Taking = () => {};
const own: Taking = (error) => {
  if (!FatalError.is(error) || Refusal.is(error) || JournalConflictError.is(error)) throw error;
};

/** `began` is told of every body of a step before it does anything. */
const bodyOf =
  (ops: readonly Op[], taking: Taking, began: () => void): Body =>
  async (ctx) => {
    const attempt = async (call: () => Promise<unknown>): Promise<unknown> => {
      try {
        return await call();
      } catch (error) {
        taking(error);
        return "swallowed";
      }
    };
    const seen: unknown[] = [];
    for (const op of ops) seen.push(await attempt(async () => callOf(op, ctx, attempt, began)));
    return seen;
  };

const callOf = (
  op: Op,
  ctx: Ctx,
  attempt: (call: () => Promise<unknown>) => Promise<unknown>,
  began: () => void,
): Promise<unknown> => {
  const step = (name: string, fn: () => unknown) =>
    ctx.step(
      name,
      () => {
        began();
        stepSignal()?.throwIfAborted();
        return fn();
      },
      { maxAttempts: 1 },
    );
  switch (op) {
    case "step":
      return step("good", () => 1);
    case "fails":
      return step("bad", () => Promise.reject(new Error("no")));
    case "nested":
      return step("outer", () => attempt(() => step("inner", () => 2)));
    case "now":
      return ctx.now();
    case "sleep":
      return ctx.sleep("past", -1);
    case "window":
      return ctx.waitFor("mine", { timeoutMs: -1 });
    case "taken":
      return ctx.waitFor("held");
    case "sleeps in a step":
      return step("waiting", () => attempt(() => ctx.sleep("never", 5)));
    case "reads in a step":
      return step("reading", () => attempt(() => ctx.now()));
    default:
      return op satisfies never;
  }
};

interface Trouble {
  /** The append of the run that the store refuses once; 0: none. */
  readonly refused: number;
  /** The body that begins last before the walk is aborted; 0: none. */
  readonly aborted: number;
}

/** What the log holds of the run after each delivery, without what differs from run to run. */
const told = async (ops: readonly Op[], taking: Taking, trouble: Trouble): Promise<unknown[]> => {
  const log = createFaultLog();
  await held(log);
  const stop = new AbortController();
  let bodies = 0;
  const began = (): void => {
    bodies += 1;
    if (bodies === trouble.aborted) stop.abort(new Error("stop"));
  };
  const journal = workerOn(log, () => 1_000);
  const { engine, start } = scene(bodyOf(ops, taking, began), { journal, runId: "run", clock: () => 1_000 });
  await start();
  let appends = 0;
  log.fault = ({ stream }) => {
    if (stream !== "run-run") return undefined;
    appends += 1;
    return appends === trouble.refused ? { refuse: UNAVAILABLE } : undefined;
  };
  const after: unknown[] = [];
  for (const signal of [stop.signal, undefined, undefined]) {
    const status = await soon(engine.execute("run", signal).catch((error: unknown) => String(error)));
    after.push(status, (await streamOf(log, "run")).map(plain));
  }
  return after;
};

const plain = ({ type, data }: { readonly type: string; readonly data: object }) => {
  const { holder: _, ...rest } = data as Record<string, unknown>;
  return { type, ...rest };
};

/** Another run holds the token "held", for ever. */
const held = async (log: FaultLog): Promise<void> => {
  const { engine, start } = scene((ctx) => ctx.waitFor("held"), {
    journal: workerOn(log, () => 1_000),
    runId: "other",
  });
  await start();
  await engine.execute("other");
};

const program = fc.array(fc.constantFrom(...OPS), { minLength: 1, maxLength: 6 });

describe("L9: a body that swallows everything leaves the log of one that does not", () => {
  test("whatever the store refuses", () =>
    fc.assert(
      fc.asyncProperty(program, fc.nat({ max: 14 }), async (ops, refused) => {
        const trouble = { refused, aborted: 0 };
        expect(await told(ops, all, trouble)).toEqual(await told(ops, own, trouble));
      }),
      { numRuns: 300 },
    ));

  test("wherever the walk is aborted", () =>
    fc.assert(
      fc.asyncProperty(program, fc.nat({ max: 8 }), async (ops, aborted) => {
        const trouble = { refused: 0, aborted };
        expect(await told(ops, all, trouble)).toEqual(await told(ops, own, trouble));
      }),
      { numRuns: 300 },
    ));

  test.for<readonly [Op, string]>([
    ["taken", "failed"],
    ["sleeps in a step", "failed"],
    ["reads in a step", "failed"],
    ["fails", "completed"],
  ])("%s: the run is %s, and nothing is recorded of what the body does next", async ([op, status]) => {
    const after = await told([op, "step"], all, { refused: 0, aborted: 0 });
    expect(after[0]).toBe(status);
    const keys = (after[1] as { key?: string }[]).map(({ key }) => key);
    expect(keys.includes("good#0")).toBe(status === "completed");
  });
});
