/** Bodies for the crash harness: one for each thing that a thread can be in the middle of. Every side effect is marked. */
import type { CrashBody } from "./crash-harness.ts";
import { aborted, pause } from "./time.ts";

const quick = { maxAttempts: 3, initialIntervalMs: 1, jitter: false } as const;

export const CRASH_BODIES: Readonly<Record<string, CrashBody>> = {
  "steps one after the other": async ({ step }, effect) => {
    const order = await step("load", () => effect("load", () => ({ id: "o-7", total: 40 })));
    await step("charge", () => effect("charge", () => undefined));
    return { order, label: await step("ship", () => effect("ship", () => `label of ${order.id}`)) };
  },

  "the same name several times": async ({ step }, effect) => {
    const sums: number[] = [];
    for (const [index, key] of ["tick", "tick#2", "tick#3"].entries())
      sums.push(await step("tick", () => effect(key, () => index)));
    return sums;
  },

  "questions between steps": async ({ step, interrupt }, effect) => {
    const total = await step("load", () => effect("load", () => 40));
    const approved = interrupt<string>({ reason: `refund ${total}?`, payload: { total } });
    await step("refund", () => effect("refund", () => "refunded"));
    const how = interrupt<string>({ reason: "how was it?" });
    await step("thank", () => effect("thank", () => "thanked"));
    return [approved, how];
  },

  "steps at once, more than there are places": async ({ step }, effect) => {
    const one = (name: string, ms: number) =>
      step(name, async () => {
        await pause(ms);
        return effect(name, () => name.toUpperCase());
      });
    return Promise.all([one("a", 9), one("b", 3), one("c", 1), one("d", 5)]);
  },

  "questions in branches that overtake each other": async ({ step, interrupt }, effect) => {
    const branch = async (name: string, ms: number) => {
      await step(`before ${name}`, () => pause(ms).then(() => effect(`before ${name}`, () => ms)));
      const answer = interrupt<string>({ reason: `${name}?` });
      return step(`after ${name}`, () => effect(`after ${name}`, () => answer));
    };
    return Promise.all([branch("slow", 9), branch("quick", 2)]);
  },

  "retries and a recovery": async ({ step }, effect) => {
    const flaky = await step(
      "flaky",
      ({ attempt }) =>
        effect("flaky", () => {
          if (attempt < 3) throw new Error(`attempt ${attempt}`);
          return "at last";
        }),
      { retry: quick },
    );
    const charge = await step(
      "charge",
      (): Promise<string> =>
        effect("charge", () => {
          throw new RangeError("declined");
        }),
      {
        retry: { ...quick, maxAttempts: 2 },
        onError: ({ attempts }) => effect("charge", () => `refunded after ${attempts}`),
      },
    );
    return [flaky, charge, await step("end", () => effect("end", () => "the end"))];
  },

  "limits that are exceeded": async ({ step }, effect) => {
    const limited = (name: string, timeout: { runMs?: number; idleMs?: number }) =>
      step(
        name,
        async ({ attempt, signal }) => {
          await effect(name, () => attempt);
          if (attempt === 1) await aborted(signal);
          return `${name} in attempt ${attempt}`;
        },
        { retry: quick, timeout },
      );
    return [await limited("run", { runMs: 5 }), await limited("idle", { idleMs: 4, runMs: 50 })];
  },

  "a step within a step, and one that nobody awaits": async ({ step }, effect) => {
    void step("aside", () => pause(4).then(() => effect("aside", () => "seen")));
    return step("outer", async () => {
      const inner = await step("inner", () => effect("inner", () => "in"));
      return effect("outer", () => `${inner} and out`);
    });
  },
};
