/** The one fact of a token's stream: who may wait on it. */
import * as t from "io-ts";
import { type EventSchema, Finite, storedData } from "./event-schema.ts";

/** This run, at this key, may wait on the token (until the run is over). */
export type TokenReserved = {
  readonly type: "TokenReserved";
  readonly data: { readonly runId: string; readonly key: string; readonly at: number };
};

export const tokens = {
  TokenReserved: { version: 1, stored: storedData({ runId: t.string, key: t.string, at: Finite }) },
} as const satisfies Record<string, EventSchema>;
