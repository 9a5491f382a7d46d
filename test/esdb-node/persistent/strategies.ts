/**
 * Which member of a group gets a message.
 *
 * - T1 Nobody is given more than he has room for.
 * - T2 Pinned: the messages of one stream go to one member; if that one is full they wait, and others' go on. When a member joins, buckets
 *   are moved to it from members that have more than their share, idle buckets first but busy ones too: a real server does so, and a
 *   stream may then have messages in flight at two members. A bucket of a member that left goes to whoever has the fewest.
 */
import type { LogRecord } from "../record.ts";
import type { Strategy } from "./settings.ts";

export interface Seat {
  hasRoom(): boolean;
}

/** `"skip"`: the one it belongs to is full; `"stop"`: everybody is. */
export type Choice<S> = { readonly seat: S } | "skip" | "stop";

export interface Chooser<S extends Seat> {
  add(seat: S): void;
  remove(seat: S): void;
  choose(record: LogRecord): Choice<S>;
  /** One message of `record`'s bucket was given to `seat` (+1) or is no longer with it (-1). */
  count(seat: S, record: LogRecord, change: 1 | -1): void;
}

export const createChooser = <S extends Seat>(strategy: Strategy): Chooser<S> =>
  strategy === "Pinned" ? new Pinned<S>() : new Line<S>(strategy === "RoundRobin");

/** One after the other, or the first as long as it has room. */
class Line<S extends Seat> implements Chooser<S> {
  readonly #turns: boolean;
  readonly #seats: S[] = [];

  constructor(turns: boolean) {
    this.#turns = turns;
  }

  add(seat: S): void {
    this.#seats.push(seat);
  }

  remove(seat: S): void {
    this.#seats.splice(this.#seats.indexOf(seat), 1);
  }

  choose(): Choice<S> {
    const index = this.#seats.findIndex((seat) => seat.hasRoom());
    if (index === -1) return "stop";
    const seat = this.#seats[index]!;
    if (this.#turns) this.#seats.push(...this.#seats.splice(0, index + 1));
    return { seat };
  }

  count(): void {}
}

const BUCKETS = 1024;

interface Bucket<S> {
  seat: S | undefined;
  inFlight: number;
}

class Pinned<S extends Seat> implements Chooser<S> {
  readonly #buckets: Bucket<S>[] = Array.from({ length: BUCKETS }, () => ({ seat: undefined, inFlight: 0 }));
  /** How many buckets each member has, in the order in which they came. */
  readonly #assigned = new Map<S, number>();

  add(seat: S): void {
    this.#assigned.set(seat, 0);
    let total = 0;
    for (const count of this.#assigned.values()) total += count;
    const share = Math.ceil(total / this.#assigned.size);
    for (const [other, count] of this.#assigned) {
      if (count <= share) continue;
      const own = this.#buckets.filter((bucket) => bucket.seat === other);
      own.sort((a, b) => a.inFlight - b.inFlight);
      for (const bucket of own.slice(0, count - share)) this.#assign(bucket, seat);
    }
  }

  remove(seat: S): void {
    this.#assigned.delete(seat);
    for (const bucket of this.#buckets) {
      if (bucket.seat !== seat) continue;
      bucket.seat = undefined;
      bucket.inFlight = 0;
    }
  }

  choose(record: LogRecord): Choice<S> {
    if (!this.#anyRoom()) return "stop";
    const bucket = this.#bucketOf(record);
    if (bucket.seat === undefined) this.#assign(bucket, this.#fewest());
    const seat = bucket.seat!;
    return seat.hasRoom() ? { seat } : "skip";
  }

  count(seat: S, record: LogRecord, change: 1 | -1): void {
    const bucket = this.#bucketOf(record);
    if (bucket.seat === seat) bucket.inFlight += change;
  }

  #anyRoom(): boolean {
    for (const seat of this.#assigned.keys()) if (seat.hasRoom()) return true;
    return false;
  }

  #fewest(): S {
    let best: S | undefined;
    for (const [seat, count] of this.#assigned)
      if (best === undefined || count < this.#assigned.get(best)!) best = seat;
    return best!;
  }

  #assign(bucket: Bucket<S>, seat: S): void {
    if (bucket.seat !== undefined) this.#assigned.set(bucket.seat, this.#assigned.get(bucket.seat)! - 1);
    bucket.seat = seat;
    this.#assigned.set(seat, this.#assigned.get(seat)! + 1);
  }

  #bucketOf(record: LogRecord): Bucket<S> {
    return this.#buckets[hash(record.stream) % BUCKETS]!;
  }
}

/** FNV-1a. */
const hash = (text: string): number => {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193) >>> 0;
  return value;
};
