/** A run's own life: made, begun, and ended in one of three ways. */
import * as t from "io-ts";
import { type EventSchema, Failure, Finite, JsonRecord, SEALED_FAILURE, storedData } from "./event-schema.ts";
import type { JsonObject } from "./json.ts";
import type { Payload } from "./payload.ts";

export type RunCreated = {
  readonly type: "RunCreated";
  readonly data: {
    readonly workflow: string;
    readonly input?: Payload;
    readonly createdAt: number;
    readonly codeVersion?: string;
    /** The caller's own key of the run: not unique; `find` looks runs up by it. */
    readonly key?: string;
    readonly tenant?: string;
    readonly metadata?: JsonObject;
  };
};

/** The first walk: the run is no longer pending. */
export type RunStarted = { readonly type: "RunStarted"; readonly data: { readonly at: number } };

export type RunCompleted = {
  readonly type: "RunCompleted";
  readonly data: { readonly output?: Payload; readonly at: number };
};

export type RunFailed = {
  readonly type: "RunFailed";
  readonly data: { readonly error: { readonly message: string }; readonly at: number };
};

export type RunCancelled = {
  readonly type: "RunCancelled";
  readonly data: { readonly reason?: string; readonly at: number };
};

export const runLifecycle = {
  RunCreated: {
    version: 1,
    payload: "input",
    stored: storedData(
      { workflow: t.string, createdAt: Finite },
      { input: t.unknown, codeVersion: t.string, key: t.string, tenant: t.string, metadata: JsonRecord },
    ),
  },
  RunStarted: { version: 1, stored: storedData({ at: Finite }) },
  RunCompleted: { version: 1, payload: "output", stored: storedData({ at: Finite }, { output: t.unknown }) },
  RunFailed: {
    version: 1,
    failures: { error: SEALED_FAILURE },
    stored: storedData({ error: Failure, at: Finite }),
  },
  RunCancelled: { version: 1, stored: storedData({ at: Finite }, { reason: t.string }) },
} as const satisfies Record<string, EventSchema>;
