/**
 * What a test may have go wrong in a node, so that each failure of a real one can be had at will.
 *
 * A fault waits for the next calls it is about, and is used up by them. Switches stay until they are set otherwise.
 */

/** Where a fault strikes. `"subscribe"` is a catch-up subscription, `"consume"` a member of a persistent subscription. */
export type FaultPoint =
  | "append"
  | "batchAppend"
  | "delete"
  | "read"
  | "subscribe"
  | "consume"
  | "group"
  | "features"
  | "gossip";

export type FaultKind =
  /** The answer comes `delayMs` later; what was asked is done at once. */
  | "delay"
  /** Nothing is done for `delayMs`. */
  | "stall"
  /** It is done, and no answer ever comes. */
  | "drop"
  /** `batchAppend`: the answer comes twice, which kills client 6.2.1. `subscribe`, `consume`: every event so far and to come is sent twice. */
  | "duplicate"
  /** The server says that it timed out, and has not done it. */
  | "timeoutBefore"
  /** The server says that it timed out, and has done it. */
  | "timeoutAfter"
  /** It names `leader` as the node to ask. */
  | "notLeader"
  | "busy"
  /** The call breaks, nothing having been done, as when a server stops. */
  | "cancelled"
  | "unavailable"
  /** It is done, then the call breaks. */
  | "cancelledAfter"
  | "unavailableAfter";

export interface Fault {
  readonly on: FaultPoint;
  readonly kind: FaultKind;
  /** For how many calls. Default 1. */
  readonly times?: number;
  /** How many calls go by unharmed first. Default 0. */
  readonly skip?: number;
  /** Only calls about streams whose name starts with this. Default: all. */
  readonly stream?: string;
  readonly delayMs?: number;
  readonly leader?: { readonly host: string; readonly port: number };
}

/** Switches that stay. */
export interface Switches {
  /** A filtered subscription that matched nothing so far is sent the checkpoint 2^64-1 when it has caught up, as by 24.2.0–24.10.4. */
  poisonCheckpoint: boolean;
  /** A subscription says `caught_up` once more after each this many live events; 0 is never. */
  caughtUpAgainAfter: number;
  /** Where gossip says that this node is. */
  advertise: { readonly host: string; readonly port: number } | undefined;
  /** This node is a follower of the one that is named. It still takes writes that do not insist on a leader. */
  leader: { readonly host: string; readonly port: number } | undefined;
}

const ALL_OFF: Switches = {
  poisonCheckpoint: false,
  caughtUpAgainAfter: 0,
  advertise: undefined,
  leader: undefined,
};

interface Armed {
  readonly fault: Fault;
  skip: number;
  left: number;
}

export class Faults {
  readonly switches: Switches = { ...ALL_OFF };
  /** Calls of each kind so far, whether or not something went wrong with them; each append of a batch call counts. */
  readonly calls: Record<FaultPoint, number> = {
    append: 0,
    batchAppend: 0,
    delete: 0,
    read: 0,
    subscribe: 0,
    consume: 0,
    group: 0,
    features: 0,
    gossip: 0,
  };
  #armed: Armed[] = [];

  add(fault: Fault): void {
    this.#armed.push({ fault, skip: fault.skip ?? 0, left: fault.times ?? 1 });
  }

  /** Takes all faults and switches back. */
  clear(): void {
    this.#armed = [];
    Object.assign(this.switches, ALL_OFF);
  }

  /** The fault that strikes this call, if any, and uses it up. */
  take(on: FaultPoint, stream: string): Fault | undefined {
    this.calls[on] += 1;
    if (this.#armed.length === 0) return undefined;
    const armed = this.#armed.find(
      ({ fault }) => fault.on === on && (fault.stream === undefined || stream.startsWith(fault.stream)),
    );
    if (armed === undefined) return undefined;
    if (armed.skip > 0) {
      armed.skip -= 1;
      return undefined;
    }
    armed.left -= 1;
    if (armed.left <= 0) this.#armed.splice(this.#armed.indexOf(armed), 1);
    return armed.fault;
  }
}
