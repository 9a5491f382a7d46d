/**
 * A small model of a run's life: which event may follow the ones before it. It is written from the meaning of the events and shares
 * nothing with the engine's decisions, so that the two can be held against each other.
 *
 * - E1 A move that is not possible changes nothing: every list of moves makes a life.
 */
import type { RunEvent } from "../events/catalogue.ts";
import { encodePayload, type Payload } from "../events/payload.ts";

/** What a run may do; the last three end it. */
export const MOVES = [
  "claim",
  "settle",
  "release",
  "retry",
  "read",
  "sleep",
  "elapse",
  "wake",
  "open",
  "deliver",
  "close",
  "complete",
  "fail",
  "cancel",
] as const;

export interface Move {
  readonly does: (typeof MOVES)[number];
  /** Picks one among what is there. */
  readonly pick: number;
  readonly text: string;
  readonly value: unknown;
  readonly ok: boolean;
  /** How much later than the move before it, in milliseconds. */
  readonly later: number;
}

const LEASE_HOLDERS = ["w1", "w2", "w3"];

interface Life {
  readonly events: RunEvent[];
  at: number;
  readonly counts: Map<string, number>;
  /** Step keys that are not settled, with the holders that have a charge. */
  readonly open: Map<
    string,
    { readonly name: string; readonly since: number; readonly holders: Set<string>; tries: number }
  >;
  readonly sleeps: Map<string, { readonly wakeAt: number; readonly kind: "sleep" | "hookTimeout" }>;
  readonly hooks: Set<string>;
  started: boolean;
  over: boolean;
}

const occurrence = (life: Life, family: string, name: string): number => {
  const counted = `${family} ${name}`;
  const n = life.counts.get(counted) ?? 0;
  life.counts.set(counted, n + 1);
  return n;
};

const picked = <T>(items: Iterable<T>, pick: number): T | undefined => {
  const all = [...items];
  return all[pick % Math.max(1, all.length)];
};

const payloadOf = (value: unknown): { readonly payload?: Payload } => {
  const payload = encodePayload(value);
  return payload === undefined ? {} : { payload };
};

const outputOf = (value: unknown): { readonly output?: Payload } => {
  const output = encodePayload(value);
  return output === undefined ? {} : { output };
};

const begin = (life: Life): void => {
  if (life.started) return;
  life.started = true;
  life.events.push({ type: "RunStarted", data: { at: life.at } });
};

const attemptMoves = {
  claim: (life: Life, { pick, text, ok }: Move): void => {
    const key = ok ? picked(life.open.keys(), pick) : undefined;
    const [claimed, step] =
      key === undefined
        ? [
            `${text}#${occurrence(life, "step", text)}`,
            { name: text, since: life.at, holders: new Set<string>(), tries: 0 },
          ]
        : [key, life.open.get(key)!];
    const holder = LEASE_HOLDERS.find((name) => !step.holders.has(name));
    if (holder === undefined) return;
    begin(life);
    life.open.set(claimed, step);
    step.holders.add(holder);
    life.events.push({ type: "AttemptClaimed", data: { key: claimed, holder, at: life.at } });
  },
  release: (life: Life, { pick }: Move): void => {
    const key = picked(life.open.keys(), pick);
    const holder = key === undefined ? undefined : picked(life.open.get(key)!.holders, pick);
    if (key === undefined || holder === undefined) return;
    life.open.get(key)!.holders.delete(holder);
    life.events.push({ type: "AttemptReleased", data: { key, holder, at: life.at } });
  },
  retry: (life: Life, { pick, text }: Move): void => {
    const key = picked(life.open.keys(), pick);
    if (key === undefined || life.open.get(key)!.holders.size === 0 || life.open.get(key)!.tries >= 2) return;
    const attempt = ++life.open.get(key)!.tries;
    const data = { key, attempt, maxAttempts: 3, error: { message: text }, delayMs: pick, at: life.at };
    life.events.push({ type: "StepRetried", data });
  },
  settle: (life: Life, { pick, ok, value, text }: Move): void => {
    const key = picked(life.open.keys(), pick);
    const step = key === undefined ? undefined : life.open.get(key);
    if (key === undefined || step === undefined || step.holders.size === 0) return;
    life.open.delete(key);
    const data = {
      key,
      name: step.name,
      attempts: step.tries + 1,
      startedAt: step.since,
      finishedAt: life.at,
    };
    life.events.push(
      ok
        ? { type: "StepSettled", data: { ...data, status: "ok", ...outputOf(value) } }
        : { type: "StepSettled", data: { ...data, status: "failed", error: { message: text } } },
    );
  },
  read: (life: Life, { pick }: Move): void => {
    begin(life);
    const name = ["now", "random", "uuid"][pick % 3]!;
    const output = encodePayload(name === "now" ? life.at : name === "random" ? 0.5 : `uuid-${pick}`)!;
    const key = `${name}!${occurrence(life, "read", name)}`;
    const data = {
      key,
      name,
      status: "ok" as const,
      output,
      attempts: 0,
      startedAt: life.at,
      finishedAt: life.at,
    };
    life.events.push({ type: "StepSettled", data });
  },
};

const waitMoves = {
  sleep: (life: Life, { text, pick, ok }: Move): void => {
    begin(life);
    const key = `sleep!${text}#${occurrence(life, "sleep", text)}`;
    schedule(life, key, life.at + pick, "sleep", ok ? text : undefined);
  },
  elapse: (life: Life, { pick }: Move): void => {
    const found = picked(life.sleeps, pick);
    if (found === undefined) return;
    const [key, { wakeAt }] = found;
    life.at = Math.max(life.at, wakeAt);
    life.sleeps.delete(key);
    life.events.push({ type: "SleepElapsed", data: { key, at: life.at } });
  },
  wake: (life: Life, { pick }: Move): void => {
    const outstanding = [...life.sleeps].filter(
      ([, { kind, wakeAt }]) => kind === "sleep" && wakeAt > life.at,
    );
    const key = picked(outstanding, pick)?.[0];
    if (key === undefined) return;
    life.sleeps.delete(key);
    life.events.push({ type: "SleepWoken", data: { key, at: life.at } });
  },
  open: (life: Life, { text, pick, ok }: Move): void => {
    // A token has one wait in a run's life, and the first one here is the only one.
    const n = occurrence(life, "hook", text);
    if (n > 0) return;
    begin(life);
    const key = `hook!${text}#${n}`;
    life.hooks.add(key);
    life.events.push({ type: "HookOpened", data: { key, token: text, at: life.at } });
    if (ok) schedule(life, `hookTimeout!${text}#${n}`, life.at + pick, "hookTimeout", undefined);
  },
  deliver: (life: Life, { pick, value }: Move): void => {
    const key = picked(life.hooks, pick);
    if (key === undefined) return;
    life.hooks.delete(key);
    life.events.push({ type: "HookDelivered", data: { key, ...payloadOf(value), at: life.at } });
  },
  close: (life: Life, { pick }: Move): void => {
    const key = picked(life.hooks, pick);
    if (key === undefined) return;
    life.hooks.delete(key);
    life.events.push({ type: "HookClosed", data: { key, at: life.at } });
  },
};

const schedule = (
  life: Life,
  key: string,
  wakeAt: number,
  kind: "sleep" | "hookTimeout",
  correlationId: string | undefined,
): void => {
  life.sleeps.set(key, { wakeAt, kind });
  const named = correlationId === undefined ? {} : { correlationId };
  life.events.push({ type: "SleepScheduled", data: { key, wakeAt, kind, ...named, at: life.at } });
};

const endMoves = {
  complete: (life: Life, { value }: Move): void => {
    begin(life);
    life.over = true;
    life.events.push({ type: "RunCompleted", data: { ...outputOf(value), at: life.at } });
  },
  fail: (life: Life, { text }: Move): void => {
    life.over = true;
    life.events.push({ type: "RunFailed", data: { error: { message: text }, at: life.at } });
  },
  cancel: (life: Life, { ok, text }: Move): void => {
    life.over = true;
    life.events.push({ type: "RunCancelled", data: { ...(ok ? { reason: text } : {}), at: life.at } });
  },
};

const moves: { readonly [M in Move["does"]]: (life: Life, move: Move) => void } = {
  ...attemptMoves,
  ...waitMoves,
  ...endMoves,
};

export interface Creation {
  readonly workflow: string;
  readonly input: unknown;
  readonly createdAt: number;
  readonly codeVersion: string | undefined;
  readonly key: string | undefined;
}

/** The events of the run that was created so and then made these moves. */
export const liveThrough = (creation: Creation, made: readonly Move[]): readonly RunEvent[] => {
  const { workflow, input, createdAt, codeVersion, key } = creation;
  const encoded = encodePayload(input);
  const data = {
    workflow,
    createdAt,
    ...(encoded === undefined ? {} : { input: encoded }),
    ...(codeVersion === undefined ? {} : { codeVersion }),
    ...(key === undefined ? {} : { key }),
  };
  const life: Life = {
    events: [{ type: "RunCreated", data }],
    at: createdAt,
    counts: new Map(),
    open: new Map(),
    sleeps: new Map(),
    hooks: new Set(),
    started: false,
    over: false,
  };
  for (const move of made) {
    if (life.over) break;
    life.at += move.later;
    moves[move.does](life, move);
  }
  return life.events;
};
