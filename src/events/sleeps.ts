/** Waits for an instant: decided once (law L7), over when it has passed or when somebody cut the wait short. */
import * as t from "io-ts";
import { type EventSchema, Finite, storedData } from "./event-schema.ts";

export type SleepScheduled = {
  readonly type: "SleepScheduled";
  readonly data: {
    readonly key: string;
    readonly wakeAt: number;
    readonly kind: "sleep" | "hookTimeout";
    readonly correlationId?: string;
    readonly at: number;
  };
};

export type SleepElapsed = {
  readonly type: "SleepElapsed";
  readonly data: { readonly key: string; readonly at: number };
};

export type SleepWoken = {
  readonly type: "SleepWoken";
  readonly data: { readonly key: string; readonly at: number };
};

const over = storedData({ key: t.string, at: Finite });

export const sleeps = {
  SleepScheduled: {
    version: 1,
    stored: storedData(
      { key: t.string, wakeAt: Finite, kind: t.keyof({ sleep: null, hookTimeout: null }), at: Finite },
      { correlationId: t.string },
    ),
  },
  SleepElapsed: { version: 1, stored: over },
  SleepWoken: { version: 1, stored: over },
} as const satisfies Record<string, EventSchema>;
