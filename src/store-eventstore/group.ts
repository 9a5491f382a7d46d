/**
 * One consumer group as this process sees it: takes what the server gives and hands each event to one of the consumers here (P6).
 *
 * The server delivers in no certain order, counts a change of consumer as a retry whether the event was looked at or not, and knows
 * neither delays nor how much one of several consumers in a process holds. All of that is kept here.
 *
 * Invariants:
 * - G1 A consumer holds at most `maxInFlight` events, and one that is full does not keep the others from going on.
 * - G2 A stream belongs to the consumer that got its first event, until that consumer leaves; the last {@link REMEMBERED_STREAMS} are
 *   remembered. What waits for a consumer waits in log order.
 * - G3 An event is in custody once: what the server gives again after a break is the same one, and nobody is handed it a second time.
 *   What nobody here has been handed when a connection breaks leaves custody: the server may give it to another process.
 * - G4 An answer counts once, and only from who holds the event. It is remembered and said again when the event
 *   comes back, since the server confirms none.
 * - G5 When the last consumer leaves, the answers are flushed and all else is handed back to the server, for other processes.
 */
import type { Subscriber } from "rxjs";
import {
  type Consumed,
  type ConsumeOptions,
  comparePositions,
  type EventFilter,
  type Position,
  passes,
  type RecordedEvent,
} from "../events/event-log.ts";
import { BoundedMap } from "./bounded-map.ts";
import { storeErrorOf } from "./client-errors.ts";
import { serverFilter } from "./filters.ts";
import { serverGroup } from "./group-settings.ts";
import { type Arrival, Lane, type LaneParts } from "./lane.ts";
import { recorded } from "./records.ts";

export interface GroupParts extends LaneParts {
  readonly server: string;
  /** Events this process may hold beyond what its consumers do, and what waits for a retry: they wait for a consumer that is full. */
  readonly prefetch: number;
}

/** An event in custody. */
interface Item {
  readonly event: RecordedEvent;
  arrival: Arrival;
  /** How often it was handed out before. */
  times: number;
}

interface Member {
  readonly subscriber: Subscriber<Consumed>;
  readonly maxInFlight: number;
  /** What it holds, each with the mark of that one handing-out, by which a late answer is known (G4). */
  readonly held: Map<Item, symbol>;
  readonly waiting: Item[];
  /** What waits for the time of a retry that it asked for. */
  readonly delayed: Map<Item, NodeJS.Timeout>;
}

export const REMEMBERED_STREAMS = 50_000;
const REMEMBERED_ANSWERS = 10_000;
/** Events that a process may hold of a group: beyond that, retries that wait hold up the others. */
const MOST_HELD = 65_536;
const DEFAULT_MAX_IN_FLIGHT = 1_024;
const LONGEST_TIMER = 2 ** 31 - 1;

export class Group {
  readonly #parts: GroupParts;
  readonly #name: string;
  readonly #filter: EventFilter | undefined;
  readonly #members = new Set<Member>();
  readonly #owners = new BoundedMap<string, Member>(REMEMBERED_STREAMS);
  readonly #custody = new Map<Position, Item>();
  /** In nobody's queue yet, in log order. */
  #unassigned: Item[] = [];
  readonly #acked = new BoundedMap<Position, true>(REMEMBERED_ANSWERS);
  /** Why it was parked. An operator who has the server replay what is parked gets it all the same. */
  readonly #parked = new BoundedMap<Position, string>(REMEMBERED_ANSWERS);
  /** What went back to the server: how often it had been handed out, and what the server's own count was. */
  readonly #returned = new BoundedMap<Position, { readonly times: number; readonly retries: number }>(
    REMEMBERED_ANSWERS,
  );
  /** The lane, and the one that is to take its place. */
  #lanes: Lane[] = [];
  #closing: Promise<void> | undefined;
  #pumping = false;

  constructor(parts: GroupParts, group: string, filter: EventFilter | undefined) {
    this.#parts = parts;
    this.#name = serverGroup(group, filter);
    this.#filter = filter;
  }

  /** Adds a consumer. The answer takes it out again and hands back what it had not acked. */
  join(
    subscriber: Subscriber<Consumed>,
    { maxInFlight = DEFAULT_MAX_IN_FLIGHT }: ConsumeOptions,
  ): () => void {
    const member: Member = { subscriber, maxInFlight, held: new Map(), waiting: [], delayed: new Map() };
    this.#members.add(member);
    if (this.#closing === undefined) this.#makeRoom();
    this.#wake();
    return () => this.#leave(member);
  }

  /** Completes every consumer, and resolves when all is handed back. */
  async close(): Promise<void> {
    for (const { subscriber } of [...this.#members]) subscriber.complete();
    await this.#closing;
  }

  /**
   * The server may give as much as the consumers may hold, what waits for a retry, and {@link GroupParts.prefetch}. How much that is, is
   * fixed when a lane is opened: where it becomes too little, a lane of twice the size takes its place, by which all that is in custody
   * comes again (G3).
   */
  #makeRoom(): void {
    if (this.#members.size === 0) return;
    const { prefetch } = this.#parts;
    const [lane, next] = this.#lanes;
    const had = lane?.bufferSize ?? 0;
    let held = 0;
    for (const { maxInFlight, delayed } of this.#members) held += maxInFlight + delayed.size;
    if (next !== undefined || (lane !== undefined && held + prefetch / 2 <= had)) return;
    const size = Math.min(Math.max(Math.ceil(held + prefetch), 2 * had), MOST_HELD);
    if (size <= had) return;
    const wider = this.#openLane(size);
    if (lane === undefined) return;
    const replace = async (): Promise<void> => {
      await wider.opened;
      await lane.flush();
      if (!this.#lanes.includes(lane)) return;
      this.#lanes = [wider];
      await lane.close();
      this.#makeRoom();
    };
    replace();
  }

  #openLane(size: number): Lane {
    const owner = {
      group: this.#name,
      filter: serverFilter(this.#filter),
      arrived: (arrival: Arrival) => this.#arrived(arrival),
      broke: (broken: Lane) => this.#broke(broken),
      gaveUp: (error: unknown) => this.#fail(error),
    };
    const lane = new Lane(this.#parts, owner, size);
    this.#lanes.push(lane);
    return lane;
  }

  #arrived(arrival: Arrival): void {
    const { resolved, lane } = arrival;
    const event = recorded(resolved.event);
    if (event === undefined || !passes(this.#filter, event.stream, event.type)) {
      lane.ack(arrival);
      return;
    }
    const { position } = event;
    // What was parked comes, when it is replayed, by a link from where it was set aside.
    if (resolved.link !== undefined) this.#parked.delete(position);
    const there = this.#custody.get(position);
    const reason = this.#parked.get(position);
    if (there !== undefined) there.arrival = arrival;
    else if (this.#acked.get(position) !== undefined) lane.ack(arrival);
    else if (reason !== undefined) lane.park(arrival, reason);
    else this.#admit(event, arrival);
  }

  #admit(event: RecordedEvent, arrival: Arrival): void {
    const { retryCount } = arrival.resolved;
    const known = this.#returned.get(event.position);
    this.#returned.delete(event.position);
    // The server counted our handing it back; what it counted beyond that were consumers elsewhere.
    const times =
      known === undefined ? retryCount : known.times + Math.max(0, retryCount - known.retries - 1);
    const item: Item = { event, arrival, times };
    this.#custody.set(event.position, item);
    this.#queue(item);
  }

  #queue(item: Item): void {
    insertInLogOrder(this.#owners.get(item.event.stream)?.waiting ?? this.#unassigned, item);
    this.#wake();
  }

  // A turn later, so that nobody is called from inside a call of his own, and the server's from inside the client's.
  #wake(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    Promise.resolve().then(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  /** All in log order: no consumer's own streams keep others from a beginning, and what waits is not overtaken. */
  #pump(): void {
    for (let [first] = this.#unassigned; first !== undefined; [first] = this.#unassigned) {
      for (const member of this.#members) this.#fill(member, first);
      if (first !== this.#unassigned[0]) continue;
      const owner = this.#owners.get(first.event.stream) ?? this.#roomiest();
      if (owner === undefined) return;
      this.#unassigned.shift();
      this.#owners.set(first.event.stream, owner);
      insertInLogOrder(owner.waiting, first);
    }
    for (const member of this.#members) this.#fill(member);
  }

  /** A new stream goes to the consumer with room that has gone longest without a new one. */
  #roomiest(): Member | undefined {
    for (const member of this.#members) {
      if (!hasRoom(member)) continue;
      this.#members.delete(member);
      this.#members.add(member);
      return member;
    }
    return undefined;
  }

  /** Hands out what waits for a consumer, as much of it as comes before `until`. */
  #fill(member: Member, until?: Item): void {
    while (hasRoom(member) && this.#members.has(member)) {
      const [next] = member.waiting;
      if (next === undefined || (until !== undefined && byPosition(next, until) > 0)) return;
      member.waiting.shift();
      this.#handOut(member, next);
    }
  }

  #handOut(member: Member, item: Item): void {
    const mark = Symbol(item.event.position);
    const release = (): boolean => {
      if (member.held.get(item) !== mark) return false;
      member.held.delete(item);
      this.#wake();
      return true;
    };
    member.held.set(item, mark);
    member.subscriber.next({
      event: item.event,
      redeliveries: item.times,
      ack: () => {
        if (release()) this.#ack(item);
      },
      nack: (action, reason, delayMs = 0) => {
        if (!release()) return;
        if (action === "park") this.#park(item, reason);
        else this.#retry(member, item, delayMs);
      },
    });
  }

  #ack({ event: { position }, arrival }: Item): void {
    this.#custody.delete(position);
    this.#acked.set(position, true);
    arrival.lane.ack(arrival);
  }

  #park({ event: { position }, arrival }: Item, reason: string): void {
    this.#custody.delete(position);
    this.#parked.set(position, reason);
    arrival.lane.park(arrival, reason);
  }

  #retry(member: Member, item: Item, delayMs: number): void {
    item.times += 1;
    // A turn later even without a delay: a consumer that refuses everything at once must not keep the pump busy for ever.
    const again = (): void => {
      member.delayed.delete(item);
      this.#queue(item);
    };
    const timer = setTimeout(again, Math.min(Math.max(0, delayMs), LONGEST_TIMER));
    timer.unref();
    member.delayed.set(item, timer);
    this.#makeRoom();
  }

  #leave(member: Member): void {
    if (!this.#members.delete(member)) return;
    this.#owners.deleteValue(member);
    for (const item of member.held.keys()) item.times += 1;
    for (const timer of member.delayed.values()) clearTimeout(timer);
    const left = [...member.held.keys(), ...member.waiting, ...member.delayed.keys()];
    member.held.clear();
    member.waiting.length = 0;
    member.delayed.clear();
    this.#unassigned = [...this.#unassigned, ...left].sort(byPosition);
    if (this.#members.size > 0) this.#wake();
    else this.#closing ??= this.#handBack();
  }

  /** Nobody is left (G5). Whoever comes while the answers are flushed goes on with what is here. */
  async #handBack(): Promise<void> {
    // In a turn of its own: one consumer may leave so that another may come.
    await Promise.resolve();
    for (const lane of this.#lanes) await lane.flush();
    if (this.#members.size === 0) {
      const lanes = this.#lanes;
      this.#lanes = [];
      this.#letGo();
      for (const lane of lanes) await lane.close();
    }
    this.#closing = undefined;
    if (this.#members.size > 0) this.#makeRoom();
    this.#wake();
  }

  #letGo(): void {
    for (const item of this.#custody.values()) this.#release(item);
    this.#unassigned = [];
  }

  #release({ event: { position }, arrival, times }: Item): void {
    this.#returned.set(position, { times, retries: arrival.resolved.retryCount });
    this.#custody.delete(position);
  }

  /** What a consumer holds, or is to have again, it keeps (G3). */
  #broke(lane: Lane): void {
    const kept = (item: Item): boolean => {
      if (item.arrival.lane !== lane) return true;
      this.#release(item);
      return false;
    };
    this.#unassigned = this.#unassigned.filter(kept);
    for (const { waiting } of this.#members)
      waiting.splice(0, Number.POSITIVE_INFINITY, ...waiting.filter(kept));
  }

  /** The server cannot be reached any more, or refuses: those who consume are told. */
  #fail(error: unknown): void {
    const failure = storeErrorOf(this.#parts.server, error);
    for (const { subscriber } of [...this.#members]) subscriber.error(failure);
  }
}

const hasRoom = (member: Member): boolean => member.held.size < member.maxInFlight;

const byPosition = (a: Item, b: Item): number => comparePositions(a.event.position, b.event.position);

const insertInLogOrder = (queue: Item[], item: Item): void => {
  const last = queue.at(-1);
  if (last === undefined || byPosition(last, item) < 0) queue.push(item);
  else
    queue.splice(
      queue.findIndex((other) => byPosition(other, item) > 0),
      0,
      item,
    );
};
