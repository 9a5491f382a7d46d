import type { JournalStore } from "../../src/engine/journal-store.ts";
import type { EventLog } from "../../src/events/event-log.ts";

/** Variants of the engine's surroundings: what a mutant breaks. */
export interface Surroundings {
  readonly journal?: (journal: JournalStore) => JournalStore;
  readonly log?: (log: EventLog) => EventLog;
  /** The journal is somebody's who keeps the contract and no more: what a walk is told in which order is then not the stream's matter. */
  readonly plain?: boolean;
  /** The store answers within the turn that asks it, unless its reply is slow. */
  readonly prompt?: boolean;
}
