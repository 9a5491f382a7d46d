/**
 * Waits of a context: sleeps, and hooks with or without a deadline. A wait that is not over parks the walk.
 *
 * Not here: who ends a wait (decide/), and when a parked walk ends (walk.ts). The invariants are those of context.ts.
 */
import { textArgument } from "../arguments.ts";
import { deadlineOf } from "../deadline.ts";
import type { HookRecord, Settlement, SleepEntry } from "../journal-store.ts";
import { hookMismatchMessage, payloadMismatchMessage, Refusal } from "../refusals.ts";
import { checkSchema } from "../schema.ts";
import type { Schema, SleepOptions } from "../workflow.ts";
import type { ContextScope } from "./context-scope.ts";

export interface WaitsOptions {
  /** The sleeps and deadlines that were recorded when the walk began. */
  readonly sleeps: readonly SleepEntry[];
  /** Does the store say in which order everything settled? Where it does not, a recorded sleep is judged by the clock. */
  readonly ordered: boolean;
}

interface WaitWindow {
  readonly timeoutMs?: number;
  readonly schema?: Schema;
}

export interface Waits {
  sleep(label: string, until: number | Date, options?: SleepOptions): Promise<unknown>;
  waitFor(token: string, window?: WaitWindow): Promise<unknown>;
}

export const createWaits = (scope: ContextScope, options: WaitsOptions): Waits => {
  const { walk, keys, answers, clock, outsideStep } = scope;
  const { runId, journal } = walk;
  const sleeps = new Map(options.sleeps.map((entry) => [entry.key, entry]));

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
    if (!options.ordered && known !== undefined && isOver(known, clock())) {
      return answers.recorded(asked, () => undefined);
    }
    return answers.live<undefined>(
      asked,
      () => undefined,
      async (question) => {
        const place = answers.place();
        try {
          const reached = await journal.reachSleep(key, wakeAt, correlationId, "sleep", place.take);
          if (reached.over) question.give(undefined, place.taken());
          else question.park(reached.wakeAt, [{ what: asked, resume: async () => question.give(undefined) }]);
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
    return answers.live<HookRecord | undefined>(asked, produce, async (question) => {
      const inPlace = async (result: () => Promise<HookRecord | undefined>): Promise<void> => {
        const place = answers.place();
        place.take();
        try {
          question.give(await result(), place.taken());
        } finally {
          place.drop();
        }
      };
      const close = () => inPlace(async () => ((await journal.closeHook(key)) ? undefined : claim()));
      const answered = { what: asked, resume: () => inPlace(claim) };

      const hook = await claim();
      if (hook.delivered) return question.give(hook);
      if (closesAt === undefined) return question.park(undefined, [answered]);
      const known = sleeps.get(timeoutKey);
      const deadline =
        known !== undefined && isOver(known, clock())
          ? { wakeAt: known.wakeAt, over: true }
          : await journal.reachSleep(timeoutKey, closesAt, undefined, "hookTimeout", () => {});
      if (deadline.over) return close();
      const elapsed = { what: { of: "sleep", key: timeoutKey } as const, resume: close };
      question.park(deadline.wakeAt, [answered, elapsed]);
    });
  };

  return { sleep, waitFor };
};

const isOver = (sleep: SleepEntry, now: number): boolean => sleep.woken || sleep.wakeAt <= now;
