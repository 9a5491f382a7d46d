/** What became of a step: tries that failed on the way, and the verdict. */
import * as t from "io-ts";
import { type EventSchema, Failure, Finite, Limit, SEALED_FAILURE, storedData } from "./event-schema.ts";
import type { Payload } from "./payload.ts";
import type { SealedState } from "./sealed-value.ts";

/** Narration of a failed try: folds ignore it. `maxAttempts` is stored as null where there is no limit (`Infinity`). */
export type StepRetried = {
  readonly type: "StepRetried";
  readonly data: {
    readonly key: string;
    readonly attempt: number;
    readonly maxAttempts: number;
    readonly error: { readonly message: string };
    readonly delayMs: number;
    readonly at: number;
  };
};

export type StepSettled = {
  readonly type: "StepSettled";
  readonly data: {
    readonly key: string;
    readonly name: string;
    readonly status: "ok" | "failed";
    readonly output?: Payload;
    /** `sealed` where it could not be opened, and the message is not the one that was recorded. */
    readonly error?: { readonly message: string; readonly sealed?: SealedState };
    readonly attempts: number;
    readonly startedAt?: number;
    readonly finishedAt: number;
  };
};

export const steps = {
  StepRetried: {
    version: 1,
    limit: "maxAttempts",
    failures: { error: SEALED_FAILURE },
    stored: storedData({
      key: t.string,
      attempt: Finite,
      maxAttempts: Limit,
      error: Failure,
      delayMs: Finite,
      at: Finite,
    }),
  },
  StepSettled: {
    version: 1,
    payload: "output",
    failures: { error: SEALED_FAILURE },
    stored: storedData(
      {
        key: t.string,
        name: t.string,
        status: t.keyof({ ok: null, failed: null }),
        attempts: Finite,
        finishedAt: Finite,
      },
      { output: t.unknown, error: Failure, startedAt: Finite },
    ),
  },
} as const satisfies Record<string, EventSchema>;
