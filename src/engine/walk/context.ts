/**
 * What a body may ask of the engine, for one walk: steps, sleeps, hooks and determinism reads.
 *
 * Invariants:
 * - C1 Keys are counted synchronously at the call, so that a fan-out's keys follow from the source order.
 * - C2 Every answer goes through the walk's releases, in the order of the stream where that is known (law L1).
 * - C3 A refusal comes before any counter moves and before the store is asked.
 */
import { randomUUID } from "node:crypto";
import { textArgument, triesArgument } from "../arguments.ts";
import { deadlineOf } from "../deadline.ts";
import { createDivergenceWatch, divergenceMessage, type Suspicion } from "../divergence.ts";
import type { HookRecord, Settlement, SleepEntry, StepEntry } from "../journal-store.ts";
import { createKeys, type DeterminismKind } from "../keys.ts";
import type { ContextMethod } from "../refusals.ts";
import { hookMismatchMessage, payloadMismatchMessage, Refusal, schemaMismatchMessage } from "../refusals.ts";
import { checkSchema } from "../schema.ts";
import { assertOutsideStep, currentStep } from "../step-context.ts";
import { FatalError } from "../step-errors.ts";
import type { StepGate } from "../step-gate.ts";
import type { Schema, SleepOptions, StepOptions, WorkflowContext } from "../workflow.ts";
import { createAnswers } from "./answers.ts";
import { attemptStep, DEFAULT_MAX_ATTEMPTS } from "./attempt.ts";
import type { Walk } from "./walk.ts";

export interface ContextOptions {
  readonly walk: Walk;
  readonly workflow: string;
  readonly steps: readonly StepEntry[];
  readonly sleeps: readonly SleepEntry[];
  /** What had settled, in order; `undefined` where the store cannot say. */
  readonly order: readonly Settlement[] | undefined;
  readonly gate: StepGate;
  readonly clock: () => number;
  readonly random?: () => number;
  readonly uuid?: () => string;
  readonly narrate: (line: string) => void;
  readonly codeVersions: { readonly started: string | undefined; readonly walking: string | undefined };
}

interface WaitWindow {
  readonly timeoutMs?: number;
  readonly schema?: Schema;
}

export const createContext = (options: ContextOptions): WorkflowContext => {
  const { walk, workflow, gate, clock, codeVersions } = options;
  const { runId, journal } = walk;
  const keys = createKeys();
  const steps = new Map(options.steps.map((entry) => [entry.key, entry]));
  const sleeps = new Map(options.sleeps.map((entry) => [entry.key, entry]));
  const divergence = createDivergenceWatch(options.steps, options.order);
  const answers = createAnswers(walk, options.order);

  const outsideStep = (method: ContextMethod): void => {
    const message = assertOutsideStep(method, runId);
    if (message !== undefined) walk.refuse(new Refusal("wait-in-step", message));
  };

  const refuseDivergence = (name: string, key: string, suspicion: Suspicion): never =>
    walk.refuse(
      new Refusal("divergence", divergenceMessage({ runId, name, key, suspicion, ...codeVersions })),
    );

  /** A recorded entry as the step's result. */
  const resultOf = (entry: StepEntry, schema: Schema | undefined): unknown => {
    if (entry.status === "failed") throw new FatalError(entry.error?.message ?? "The step failed.");
    if (schema === undefined) return entry.output;
    const checked = checkSchema(schema, entry.output);
    return checked instanceof Promise ? checked.then(accept) : accept(checked);

    function accept(result: Awaited<typeof checked>): unknown {
      if (result.ok) return result.value;
      const { key, name } = entry;
      const facts = { runId, name, key, issues: result.message, ...codeVersions };
      return walk.refuse(new Refusal("schema-mismatch", schemaMismatchMessage(facts)));
    }
  };

  const step = (
    name: string,
    fn: () => unknown,
    { maxAttempts, schema }: StepOptions = {},
  ): Promise<unknown> => {
    textArgument("The name of a step", name);
    const budget = triesArgument("maxAttempts of a step", maxAttempts ?? DEFAULT_MAX_ATTEMPTS);
    const key = keys.step(name);
    const entry = steps.get(key);
    const suspicion = divergence.reach(key, entry);
    const produce = (settled: StepEntry): unknown => resultOf(settled, schema);
    const asked: Settlement = { of: "step", key };
    if (entry !== undefined) return answers.recorded(asked, () => produce(entry));
    const inside = currentStep() !== undefined;
    return answers.live<StepEntry>(asked, produce, (give) => {
      const call = { key, name, fn, maxAttempts: budget, schema };
      const comesToRest = journal.wasClaimed(key) ? divergence.resumed() : () => {};
      const attempt = gate.run(() =>
        attemptStep(call, {
          walk,
          journal: inside ? journal.inside : journal,
          clock,
          onFirstReach: () => {
            if (suspicion !== undefined && divergence.stands(suspicion))
              refuseDivergence(name, key, suspicion);
          },
          onLateAnswer: (late) => divergence.answeredLate(late),
          narrate: options.narrate,
          give: (settled) => give(settled),
          settle: (settled) => (inside ? answers.settleInside(settled, give) : answers.settle(settled, give)),
        }),
      );
      attempt.then(comesToRest, comesToRest);
      return attempt;
    });
  };

  const sleep = (
    label: string,
    until: number | Date,
    { correlationId }: SleepOptions = {},
  ): Promise<unknown> => {
    outsideStep("ctx.sleep");
    textArgument("The label of a sleep", label);
    if (correlationId !== undefined) textArgument("The correlationId of a sleep", correlationId);
    const wakeAt = deadlineOf(until, clock());
    const key = keys.sleep(label);
    const asked: Settlement = { of: "sleep", key };
    if (answers.isRecorded(asked)) return answers.recorded(asked, () => undefined);
    const known = sleeps.get(key);
    if (options.order === undefined && known !== undefined && isOver(known, clock())) {
      return answers.recorded(asked, () => undefined);
    }
    return answers.live<undefined>(
      asked,
      () => undefined,
      async (give, parked) => {
        const place = answers.place();
        try {
          const reached = await journal.reachSleep(key, wakeAt, correlationId, "sleep", place.take);
          if (reached.over) give(undefined, place.taken());
          else parked(reached.wakeAt, [{ what: asked, resume: async () => give(undefined) }]);
        } finally {
          place.drop();
        }
      },
    );
  };

  const waitFor = (token: string, window: WaitWindow = {}): Promise<unknown> => {
    outsideStep("ctx.waitFor");
    textArgument("The token of a hook", token);
    const { timeoutMs, schema } = window;
    const closesAt = timeoutMs === undefined ? undefined : deadlineOf(timeoutMs, clock(), "ctx.waitFor");
    const { key, timeoutKey } = keys.hook(token);

    const claim = async (): Promise<HookRecord> => {
      const hook = await journal.claimHook(key, token);
      if (hook.token !== token) {
        walk.refuse(
          new Refusal("hook-mismatch", hookMismatchMessage({ runId, key, asked: token, held: hook.token })),
        );
      }
      return hook;
    };
    const produce = async (hook: HookRecord | undefined): Promise<unknown> => {
      if (hook?.delivered !== true) return undefined;
      if (schema === undefined) return hook.payload;
      const checked = await checkSchema(schema, hook.payload);
      if (checked.ok) return checked.value;
      return walk.refuse(
        new Refusal(
          "schema-mismatch",
          payloadMismatchMessage({ runId, token, key, issues: checked.message }),
        ),
      );
    };

    const asked: Settlement = { of: "hook", key };
    if (answers.isRecorded(asked)) return answers.recorded(asked, async () => produce(await claim()));
    return answers.live<HookRecord | undefined>(asked, produce, async (give, parked) => {
      const inPlace = async (result: () => Promise<HookRecord | undefined>): Promise<void> => {
        const place = answers.place();
        place.take();
        try {
          give(await result(), place.taken());
        } finally {
          place.drop();
        }
      };
      const close = () => inPlace(async () => ((await journal.closeHook(key)) ? undefined : claim()));
      const answered = { what: asked, resume: () => inPlace(claim) };

      const hook = await claim();
      if (hook.delivered) return give(hook);
      if (closesAt === undefined) return parked(undefined, [answered]);
      const known = sleeps.get(timeoutKey);
      const deadline =
        known !== undefined && isOver(known, clock())
          ? { wakeAt: known.wakeAt, over: true }
          : await journal.reachSleep(timeoutKey, closesAt, undefined, "hookTimeout", () => {});
      if (deadline.over) return close();
      const elapsed = { what: { of: "sleep", key: timeoutKey } as const, resume: close };
      parked(deadline.wakeAt, [answered, elapsed]);
    });
  };

  const read = (kind: DeterminismKind, source: () => unknown): Promise<unknown> => {
    outsideStep(`ctx.${kind}`);
    const key = keys.read(kind);
    const entry = steps.get(key);
    divergence.reach(key, entry);
    const produce = (settled: StepEntry): unknown => settled.output;
    const asked: Settlement = { of: "step", key };
    if (entry !== undefined) return answers.recorded(asked, () => produce(entry));
    return answers.live<StepEntry>(asked, produce, async (give) => {
      const at = clock();
      const settled: StepEntry = {
        key,
        name: kind,
        status: "ok",
        output: source(),
        attempts: 0,
        startedAt: at,
        finishedAt: at,
      };
      await answers.settle(settled, give);
    });
  };

  const context = {
    runId,
    workflow,
    step,
    sleep,
    waitFor,
    now: () => read("now", clock),
    random: () => read("random", options.random ?? Math.random),
    uuid: () => read("uuid", options.uuid ?? randomUUID),
  };
  return asAsync(context) as unknown as WorkflowContext;
};

const isOver = (sleep: SleepEntry, now: number): boolean => sleep.woken || sleep.wakeAt <= now;

/** What a context method throws at once (a bad deadline, a refusal) reaches the body as a rejection, like everything else it says. */
const asAsync = <C extends Record<string, unknown>>(context: C): C =>
  Object.fromEntries(
    Object.entries(context).map(([name, member]) => [
      name,
      typeof member !== "function"
        ? member
        : (...args: unknown[]) => {
            try {
              return member(...args);
            } catch (error) {
              const refused = Promise.reject(error);
              refused.catch(() => {});
              return refused;
            }
          },
    ]),
  ) as C;
