/** Waits for a signal: opened under a token, then answered once or closed unanswered (law L5). */
import * as t from "io-ts";
import { type EventSchema, Finite, storedData } from "./event-schema.ts";
import type { Payload } from "./payload.ts";

export type HookOpened = {
  readonly type: "HookOpened";
  readonly data: { readonly key: string; readonly token: string; readonly at: number };
};

export type HookDelivered = {
  readonly type: "HookDelivered";
  readonly data: { readonly key: string; readonly payload?: Payload; readonly at: number };
};

export type HookClosed = {
  readonly type: "HookClosed";
  readonly data: { readonly key: string; readonly at: number };
};

export const hooks = {
  HookOpened: { version: 1, stored: storedData({ key: t.string, token: t.string, at: Finite }) },
  HookDelivered: {
    version: 1,
    payload: "payload",
    stored: storedData({ key: t.string, at: Finite }, { payload: t.unknown }),
  },
  HookClosed: { version: 1, stored: storedData({ key: t.string, at: Finite }) },
} as const satisfies Record<string, EventSchema>;
