/**
 * The ledger: what the log of a simulated world holds, checked event by event as it is written.
 *
 * Checked here: a run is created once and first, started once and ended once, and nothing follows its end; a step settles once, after
 * a claim; a wait is scheduled once, ends once, and not before its time; a hook opens once and is answered or closed, never both; a
 * token has one live holder.
 */
import { isLeft } from "fp-ts/lib/Either.js";
import { isReadKey } from "../../src/engine/keys.ts";
import type { RunEvent } from "../../src/events/catalogue.ts";
import { decodeRunEvent, decodeTokenEvent } from "../../src/events/codec.ts";
import type { EventData, Position, RecordedEvent } from "../../src/events/event-log.ts";
import { emptyRun, evolve, isTerminal, type RunState } from "../../src/projections/run-state.ts";
import { Violation } from "./violation.ts";

export interface RunFacts {
  readonly runId: string;
  readonly state: RunState;
  /** As the log has them. */
  readonly events: EventData[];
  readonly decoded: RunEvent[];
  /** Who claimed a step, ever. */
  readonly claims: Map<string, Set<string>>;
  /** Revision of the last event that is owed a delivery. */
  lastTrigger: number;
}

export interface Ledger {
  readonly runs: ReadonlyMap<string, RunFacts>;
  /** Everything written, in order, one line an event. */
  readonly lines: readonly string[];
  /** The events of the token streams, for a replay. */
  readonly tokens: ReadonlyMap<string, readonly EventData[]>;
  /** Takes down an append that was written. Throws {@link Violation}. */
  written(stream: string, lastRevision: number, events: readonly EventData[], by: string): void;
}

const TRIGGERS: ReadonlySet<RunEvent["type"]> = new Set([
  "RunCreated",
  "SleepElapsed",
  "SleepWoken",
  "HookDelivered",
]);

export const createLedger = (): Ledger => {
  const runs = new Map<string, RunFacts>();
  const tokens = new Map<string, EventData[]>();
  const holders = new Map<string, { readonly runId: string; readonly key: string }>();
  const lines: string[] = [];

  const live = (runId: string): boolean => {
    const facts = runs.get(runId);
    return facts !== undefined && !isTerminal(facts.state.status);
  };

  const tokenReserved = (recorded: RecordedEvent): void => {
    const event = decodeTokenEvent(recorded);
    if (isLeft(event)) throw new Violation("codec", event.left.message);
    const token = recorded.stream;
    const { runId, key } = event.right.data;
    const held = holders.get(token);
    if (held !== undefined && live(held.runId)) {
      throw new Violation(
        "one token, one live wait",
        `${token} is taken by ${runId} ${key} from ${held.runId} ${held.key}`,
      );
    }
    holders.set(token, { runId, key });
  };

  const runEvent = (recorded: RecordedEvent): void => {
    const decoded = decodeRunEvent(recorded);
    if (isLeft(decoded)) throw new Violation("codec", decoded.left.message);
    const event = decoded.right;
    const runId = recorded.stream.slice("run-".length);
    const facts: RunFacts = runs.get(runId) ?? {
      runId,
      state: emptyRun(),
      events: [],
      decoded: [],
      claims: new Map(),
      lastTrigger: -1,
    };
    runs.set(runId, facts);
    checkEvent(facts, event);
    evolve(facts.state, event, recorded.revision);
    facts.events.push(recorded);
    facts.decoded.push(event);
    if (event.type === "AttemptClaimed") {
      const { key, holder } = event.data;
      facts.claims.set(key, (facts.claims.get(key) ?? new Set()).add(holder));
    }
    if (TRIGGERS.has(event.type)) facts.lastTrigger = recorded.revision;
  };

  return {
    runs,
    lines,
    tokens,
    written(stream, lastRevision, events, by) {
      for (const [index, event] of events.entries()) {
        const revision = lastRevision - events.length + 1 + index;
        const recorded = { ...event, stream, revision, position: "" as Position, recordedAt: 0 };
        lines.push(`${by} ${stream}@${revision} ${event.type} ${JSON.stringify(event.data)}`);
        if (stream.startsWith("run-")) runEvent(recorded);
        else {
          tokenReserved(recorded);
          tokens.set(stream, [...(tokens.get(stream) ?? []), event]);
        }
      }
    },
  };
};

const checkEvent = ({ runId, state, claims }: RunFacts, event: RunEvent): void => {
  const must = (holds: boolean, law: string): void => {
    if (!holds) throw new Violation(law, `run ${runId}: ${event.type} ${JSON.stringify(event.data)}`);
  };
  must((event.type === "RunCreated") === (state.created === undefined), "a run is created once, and first");
  must(!isTerminal(state.status), "the first end of a run stands, and nothing follows it");
  switch (event.type) {
    case "RunStarted":
      return must(state.status === "pending", "a run starts once");
    case "StepSettled": {
      const { key } = event.data;
      must(!state.steps.has(key), "a step settles once");
      return must(isReadKey(key) || claims.has(key), "a step settles after it was claimed");
    }
    case "SleepScheduled":
      return must(!state.sleeps.has(event.data.key), "a wait is scheduled once");
    case "SleepElapsed":
    case "SleepWoken": {
      const sleep = state.sleeps.get(event.data.key);
      must(sleep !== undefined && sleep.over === undefined, "a wait ends once, after it began");
      return must(
        event.type === "SleepWoken" || event.data.at >= (sleep?.wakeAt ?? 0),
        "a wait does not elapse before its time",
      );
    }
    case "HookOpened":
      return must(!state.hooks.has(event.data.key), "a hook opens once");
    case "HookDelivered":
    case "HookClosed":
      return must(state.hooks.get(event.data.key)?.status === "open", "a hook is answered or closed, once");
    default:
      return;
  }
};
