/**
 * One consumer group: hands each matching event of the log to one of its consumers, until somebody acks it (P6).
 *
 * An event is always in exactly one place: ahead of the cursor, `held` by a consumer, `waiting` for the consumer that owns its
 * stream, pausing before a retry, in `again` (nobody's, to be handed out before anything new), or done with: acked or parked.
 *
 * The group has one filter, the one its latest consumer came with: consumers of a group are expected to agree on it.
 *
 * Invariants:
 * - G1 A consumer holds at most `maxInFlight` events, and one that is full does not keep the others from going on.
 * - G2 A stream belongs to the consumer that got its first event, until that consumer leaves.
 * - G3 What a consumer leaves behind is handed out in log order, before anything the group has not reached yet.
 * - G4 An answer counts once, and only from who holds the event.
 */
import type { Subscriber } from "rxjs";
import type { Consumed, ConsumeOptions, EventFilter, RecordedEvent } from "../events/event-log.ts";
import { comparePositions, passes } from "../events/event-log.ts";

/** An event set aside by `nack("park")`, and why. */
export interface Parked {
  readonly event: RecordedEvent;
  readonly reason: string;
}

export interface Group {
  readonly parked: readonly Parked[];
  /** Adds a consumer. The answer takes it out again and hands back what it had not acked. */
  join(subscriber: Subscriber<Consumed>, options: ConsumeOptions): () => void;
  /** Hands out what there is and somebody has room for. Never called from within itself. */
  pump(): void;
  /** Completes every consumer and stops the timers. */
  complete(): void;
}

/** One handing-out of an event; a redelivery is a new one, which is how a late answer to an old one is known (G4). */
interface Delivery {
  readonly event: RecordedEvent;
  readonly redeliveries: number;
}

interface Member {
  readonly subscriber: Subscriber<Consumed>;
  readonly maxInFlight: number;
  readonly held: Set<Delivery>;
  readonly waiting: Delivery[];
}

const LONGEST_TIMER = 2 ** 31 - 1;

/** A group at the beginning of `all`. It calls `wake` when it wants to be pumped. */
export const createGroup = (all: readonly RecordedEvent[], wake: () => void): Group => {
  let cursor = 0;
  let filter: EventFilter | undefined;
  const members = new Set<Member>();
  const owners = new Map<string, Member>();
  const again: Delivery[] = [];
  const parked: Parked[] = [];
  /** What waits for the time of its retry, and the consumer that asked for it. */
  const delayed = new Map<Delivery, { readonly member: Member; readonly timer: NodeJS.Timeout }>();

  const hasRoom = (member: Member) => member.held.size < member.maxInFlight;

  const someoneHasRoom = () => {
    for (const member of members) if (hasRoom(member)) return true;
    return false;
  };

  const nextMatching = (): Delivery | undefined => {
    while (cursor < all.length) {
      const event = all[cursor++]!;
      if (passes(filter, event.stream, event.type)) return { event, redeliveries: 0 };
    }
    return undefined;
  };

  /** The consumer of a stream. A new stream goes to the one with room that has gone longest without a new stream. */
  const ownerOf = (stream: string): Member => {
    const owner = owners.get(stream);
    if (owner !== undefined) return owner;
    for (const member of members) {
      if (!hasRoom(member)) continue;
      members.delete(member);
      members.add(member);
      owners.set(stream, member);
      return member;
    }
    throw new Error(
      `consumer group: nobody has room for an event of ${stream}; this is a fault of the memory log`,
    );
  };

  const handBack = (delivery: Delivery): void => {
    insertInLogOrder(owners.get(delivery.event.stream)?.waiting ?? again, delivery);
    wake();
  };

  const handBackLater = (member: Member, delivery: Delivery, delayMs: number): void => {
    // A turn later even without a delay: a consumer that refuses everything at once must not keep the pump busy for ever.
    if (!(delayMs > 0)) {
      Promise.resolve().then(() => handBack(delivery));
      return;
    }
    const timer = setTimeout(
      () => {
        delayed.delete(delivery);
        handBack(delivery);
      },
      Math.min(delayMs, LONGEST_TIMER),
    );
    timer.unref();
    delayed.set(delivery, { member, timer });
  };

  const handOut = (member: Member, delivery: Delivery): void => {
    const { event, redeliveries } = delivery;
    const release = () => {
      if (!member.held.delete(delivery)) return false;
      wake();
      return true;
    };
    member.held.add(delivery);
    member.subscriber.next({
      event,
      redeliveries,
      ack: () => {
        release();
      },
      nack: (action, reason, delayMs = 0) => {
        if (!release()) return;
        if (action === "park") parked.push({ event, reason });
        else handBackLater(member, { event, redeliveries: redeliveries + 1 }, delayMs);
      },
    });
  };

  const fill = (member: Member): void => {
    while (member.waiting.length > 0 && hasRoom(member)) handOut(member, member.waiting.shift()!);
  };

  const leave = (member: Member): void => {
    if (!members.delete(member)) return;
    for (const [stream, owner] of owners) if (owner === member) owners.delete(stream);
    for (const { event, redeliveries } of member.held) again.push({ event, redeliveries: redeliveries + 1 });
    for (const delivery of member.waiting.splice(0)) again.push(delivery);
    for (const [delivery, { member: asker, timer }] of delayed) {
      if (asker !== member) continue;
      clearTimeout(timer);
      delayed.delete(delivery);
      again.push(delivery);
    }
    member.held.clear();
    again.sort(byPosition);
    wake();
  };

  return {
    parked,
    join: (subscriber, options) => {
      filter = options.filter;
      const member: Member = {
        subscriber,
        maxInFlight: options.maxInFlight ?? 1024,
        held: new Set(),
        waiting: [],
      };
      members.add(member);
      wake();
      return () => leave(member);
    },
    pump: () => {
      for (const member of members) fill(member);
      while (someoneHasRoom()) {
        const delivery = again.shift() ?? nextMatching();
        if (delivery === undefined) return;
        const owner = ownerOf(delivery.event.stream);
        insertInLogOrder(owner.waiting, delivery);
        fill(owner);
      }
    },
    complete: () => {
      for (const { timer } of delayed.values()) clearTimeout(timer);
      delayed.clear();
      for (const { subscriber } of members) subscriber.complete();
    },
  };
};

const byPosition = (a: Delivery, b: Delivery): number => comparePositions(a.event.position, b.event.position);

const insertInLogOrder = (queue: Delivery[], delivery: Delivery): void => {
  const last = queue.at(-1);
  if (last === undefined || byPosition(last, delivery) < 0) queue.push(delivery);
  else
    queue.splice(
      queue.findIndex((other) => byPosition(other, delivery) > 0),
      0,
      delivery,
    );
};
