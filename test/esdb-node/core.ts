/** What the services of one node share while it runs. */
import type { Database } from "./database.ts";
import type { FaultPoint, Faults } from "./faults.ts";
import type { User } from "./guard.ts";

export interface Limits {
  /** The largest append, in bytes. */
  readonly maxAppendSize: number;
  /** Up to 24.6 only data counts; from 24.10 on metadata and types do too. */
  readonly countsMetadata: boolean;
  /** How long a repetition of something unacknowledged is left without an answer, and how long all chunks of a batch may take, in ms. */
  readonly commitTimeoutMs: number;
}

/** What the node has done since it was made, over restarts. */
export interface Counts {
  /** Appends that wrote something, by whatever call. */
  appends: number;
  events: number;
  /** See {@link Faults.calls}. */
  readonly calls: Readonly<Record<FaultPoint, number>>;
}

export interface Core {
  /** Undefined where nobody is asked who he is. */
  readonly users: ReadonlyMap<string, User> | undefined;
  readonly database: Database;
  readonly faults: Faults;
  readonly limits: Limits;
  readonly counts: Counts;
}
