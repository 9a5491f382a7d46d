/** Engines with one defect each, which the simulation has to notice: what proves that its laws have teeth. */
import type { JournalStore } from "../../src/engine/journal-store.ts";
import type { ProposeOptions } from "../../src/engine/session/batch.ts";
import { Lane } from "../../src/engine/session/lane.ts";
import { RunSession } from "../../src/engine/session/run-session.ts";
import { Walk } from "../../src/engine/walk/walk.ts";
import type { EventLog } from "../../src/events/event-log.ts";
import type { Surroundings } from "./surroundings.ts";

export interface Mutant {
  readonly defect: string;
  readonly surroundings?: Surroundings;
  /** Breaks the engine itself; answers how to mend it. */
  readonly patch?: () => () => void;
}

const journal = (change: (journal: JournalStore) => Partial<JournalStore>): Pick<Mutant, "surroundings"> => ({
  surroundings: { journal: (sound) => ({ ...sound, ...change(sound) }) },
});

const log = (change: (log: EventLog) => Partial<EventLog>): Pick<Mutant, "surroundings"> => ({
  surroundings: { log: (sound) => ({ ...sound, ...change(sound) }) },
});

/** Our journal, with nothing of what it can do beyond the contract. */
export const contractOnly = (sound: JournalStore): JournalStore => ({
  ...sound,
  appendStep: (runId, entry) => sound.appendStep(runId, entry),
});

const onTheContract = (
  change: (journal: JournalStore) => Partial<JournalStore>,
): Pick<Mutant, "surroundings"> => ({
  surroundings: { plain: true, journal: (sound) => ({ ...contractOnly(sound), ...change(sound) }) },
});

/** Replaces methods of a class until it is mended. */
const patching =
  <T extends object>(prototype: T, change: (sound: T) => Partial<T>) =>
  (): (() => void) => {
    const changes = change({ ...Object.getOwnPropertyDescriptors(prototype) } as T);
    const kept = Object.keys(changes).map(
      (name) => [name, Object.getOwnPropertyDescriptor(prototype, name)!] as const,
    );
    for (const [name, value] of Object.entries(changes)) {
      Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
    }
    return () => {
      for (const [name, descriptor] of kept) Object.defineProperty(prototype, name, descriptor);
    };
  };

const nothing = (): void => {};

const claimsBeforeTheyAreRecorded = (): (() => void) => {
  const sound = RunSession.prototype.propose;
  return patching(RunSession.prototype, () => ({
    propose<A>(this: RunSession, decide: Parameters<typeof sound<A>>[0], options: ProposeOptions<A> = {}) {
      const recorded = sound.call(this, decide as never, options as never) as Promise<A>;
      const decision = decide(this.state);
      const isClaim =
        options.lane !== undefined &&
        decision._tag === "Right" &&
        decision.right.events[0]?.type === "AttemptClaimed";
      if (!isClaim) return recorded;
      recorded.catch(nothing);
      return Promise.resolve(decision.right.answer);
    },
  }))();
};

export const mutants: readonly Mutant[] = [
  {
    // A walk that goes by the stream notices the answer anyway; one on the bare contract has nothing but what closeHook says.
    defect: "closeHook answers true whatever happened to the hook",
    ...onTheContract((sound) => ({
      closeHook: async (runId, key) => {
        await sound.closeHook(runId, key);
        return true;
      },
    })),
  },
  {
    defect: "appendStep answers the caller's entry",
    ...journal((sound) => ({
      appendStep: async (runId, entry) => {
        await sound.appendStep(runId, entry);
        return entry;
      },
    })),
  },
  {
    defect: "setStatus to an end ignores what is expected",
    ...journal((sound) => ({
      setStatus: (runId, next, patch, expect) =>
        sound.setStatus(runId, next, patch, next === "running" ? expect : undefined),
    })),
  },
  {
    defect: "createRun of a run that exists is answered with success",
    ...journal((sound) => ({
      createRun: (record) =>
        sound.createRun(record).catch((error: unknown) => {
          if (!String(error).includes("exists")) throw error;
        }),
    })),
  },
  {
    defect: "claimAttempt answers 1 without recording anything",
    ...journal(() => ({ claimAttempt: async () => 1 })),
  },
  {
    defect: "a signal is accepted before it is recorded",
    ...journal((sound) => ({
      deliverHook: async (token, payload) => {
        sound.deliverHook(token, payload).catch(nothing);
        return token.split("/")[0];
      },
    })),
  },
  {
    defect: "results are answered in the order of their keys",
    ...journal((sound) => ({
      settlements: async (runId) =>
        [...(await sound.settlements!(runId))].sort((a, b) => (a.key < b.key ? -1 : 1)),
    })),
  },
  {
    defect: "a conflict is answered by writing the same events again",
    ...log((sound) => ({
      append: (stream, expected, events) => async () => {
        const first = await sound.append(stream, expected, events)();
        const conflict = first._tag === "Left" && first.left._tag === "WrongExpectedRevision";
        return conflict ? sound.append(stream, "any", events)() : first;
      },
    })),
  },
  {
    defect: "an append is acknowledged before it is written",
    ...log((sound) => ({
      append: (stream, expected, events) => async () => {
        const written = sound.append(stream, expected, events)();
        if (typeof expected !== "number") return written;
        written.catch(nothing);
        return { _tag: "Right", right: { revision: expected + events.length, position: "" as never } };
      },
    })),
  },
  {
    defect: "an unknown outcome is taken for a refusal, and what was written for somebody else's",
    ...log((sound) => ({
      async *read(stream, options) {
        for await (const event of sound.read(stream, options)) yield { ...event, id: `not ${event.id}` };
      },
    })),
  },
  {
    defect: "a lane never goes stale",
    patch: patching(Lane.prototype, () => ({
      recordedForeign: nothing,
      decidedForeign: nothing,
      doubt: nothing,
      overtake: nothing,
    })),
  },
  {
    defect: "a walk goes on after a refusal or a store failure that its body caught",
    patch: () => {
      const sound = Object.getOwnPropertyDescriptor(Walk.prototype, "doomed")!;
      const spent = Object.getOwnPropertyDescriptor(Walk.prototype, "spent")!;
      Object.defineProperty(Walk.prototype, "doomed", spent);
      return () => Object.defineProperty(Walk.prototype, "doomed", sound);
    },
  },
  {
    defect: "a step's body does not wait for its claim, nor for what its walk settled before",
    patch: claimsBeforeTheyAreRecorded,
  },
];
