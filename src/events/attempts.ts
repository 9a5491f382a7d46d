/** Who is at work on a step: charges taken before a body runs, and given back unused (law L3). */
import * as t from "io-ts";
import { type EventSchema, Finite, storedData } from "./event-schema.ts";

export type AttemptClaimed = {
  readonly type: "AttemptClaimed";
  readonly data: { readonly key: string; readonly holder: string; readonly at: number };
};

export type AttemptReleased = {
  readonly type: "AttemptReleased";
  readonly data: { readonly key: string; readonly holder: string; readonly at: number };
};

const stored = storedData({ key: t.string, holder: t.string, at: Finite });

export const attempts = {
  AttemptClaimed: { version: 1, stored },
  AttemptReleased: { version: 1, stored },
} as const satisfies Record<string, EventSchema>;
