/**
 * A persistent subscription at work: reads its source, hands each message to one member, and hands it out again until it is done.
 *
 * - G1 A member has no more messages than its buffer; a message that was given back, has timed out or was acked no longer counts.
 * - G2 A message in flight is known by its id alone: an ack counts from whoever it comes, also when it comes late. A message whose id is
 *   in flight already is passed over.
 * - G3 What is to be retried goes before what is new.
 * - G4 A message handed out `maxRetryCount` + 1 times is parked. One that its member left behind is always retried.
 * - G5 A checkpoint never passes what is not done. Checkpoints are sparse, so that a restart hands out again.
 * - G6 The order of handing out is the source's, but for retries, members that are full, and several members: no order is promised.
 */
import type { Database } from "../database.ts";
import { visibleRecord } from "../read-options.ts";
import type { LogRecord } from "../record.ts";
import { outer, type Resolved, resolve } from "../wire.ts";
import type { GroupConfig } from "./settings.ts";
import { openSource, type Source } from "./source.ts";
import { Checkpoints, ParkedMessages } from "./stores.ts";
import { type Chooser, createChooser } from "./strategies.ts";

/** `sequence` orders messages by where they were read; replayed ones have none and hold up no checkpoint. */
interface Message {
  readonly resolved: Resolved;
  readonly retries: number;
  readonly sequence: number | undefined;
  /** The place before this message's own. */
  readonly previous: number | undefined;
}

interface InFlight {
  readonly message: Message;
  readonly member: Member;
  readonly due: number;
}

export interface MemberPort {
  readonly bufferSize: number;
  readonly from: string;
  readonly connectionName: string;
  readonly username: string;
  /** Does the connection take more? */
  open(): boolean;
  send(resolved: Resolved, retries: number): void;
}

export interface Member extends MemberPort {
  inFlight: number;
  total: number;
  hasRoom(): boolean;
}

export type NackAction = "retry" | "park" | "skip" | "stop";

export class Group {
  readonly config: GroupConfig;
  readonly members = new Set<Member>();
  readonly parked: ParkedMessages;
  total = 0;
  lastCheckpoint: number | undefined;
  readonly #database: Database;
  readonly #checkpoints: Checkpoints;
  readonly #source: Source;
  readonly #chooser: Chooser<Member>;
  readonly #inFlight = new Map<string, InFlight>();
  #buffer: Message[] = [];
  #retries: Message[] = [];
  /** How many records were looked at, and the place of the last of them. */
  #sequence = 0;
  #place: number | undefined;
  #checkpointed = 0;
  #checkpointedAt: number;
  #pumping = false;
  #closed = false;
  readonly #unwatch: () => void;

  constructor(database: Database, config: GroupConfig) {
    this.#database = database;
    this.config = config;
    this.parked = new ParkedMessages(database, config);
    this.#checkpoints = new Checkpoints(database, config);
    this.#chooser = createChooser(config.settings.strategy);
    this.lastCheckpoint = this.#checkpoints.read();
    this.#place = this.lastCheckpoint;
    this.#source = openSource(database, config, this.lastCheckpoint);
    this.#checkpointedAt = database.now();
    this.#unwatch = database.watch(config.source === "$all" ? undefined : config.source, () => this.pump());
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  get buffered(): number {
    return this.#buffer.length;
  }

  get retrying(): number {
    return this.#retries.length;
  }

  get lastKnown(): number | undefined {
    return this.#source.last();
  }

  join(port: MemberPort): Member {
    const member: Member = Object.assign(port, {
      inFlight: 0,
      total: 0,
      hasRoom: () => member.inFlight < port.bufferSize && port.open(),
    });
    this.members.add(member);
    this.#chooser.add(member);
    this.pump();
    return member;
  }

  leave(member: Member): void {
    if (!this.members.delete(member)) return;
    this.#chooser.remove(member);
    for (const [id, flight] of this.#inFlight) if (flight.member === member) this.#retry(id, flight);
    this.pump();
  }

  ack(ids: readonly string[]): void {
    for (const id of ids) this.#release(id);
    this.#checkpoint(false);
    this.pump();
  }

  /** `"stop"` is not done by servers, which then take the message for done. */
  nack(ids: readonly string[], action: NackAction, reason: string): void {
    for (const id of ids) {
      const flight = this.#inFlight.get(id);
      if (flight === undefined) continue;
      if (action === "retry") this.#retryOrPark(id, flight);
      else if (action === "park") this.#park(id, flight, `Client explicitly NAK'ed message.\n${reason}`);
      else this.#release(id);
    }
    this.#checkpoint(false);
    this.pump();
  }

  /** Once a second: what has timed out, and whether a checkpoint is due. */
  tick(): void {
    const now = this.#database.now();
    for (const [id, flight] of this.#inFlight) if (flight.due <= now) this.#retryOrPark(id, flight);
    this.pump();
    this.#checkpoint(true);
  }

  /** As if everything in flight had timed out. */
  expire(): void {
    for (const [id, flight] of this.#inFlight) this.#retryOrPark(id, flight);
    this.pump();
  }

  /** A replayed message is handed out with the record that parked it as its link, and is acked by that record's id. */
  replay(stopAt: number | undefined): void {
    for (const { link, record } of this.parked.take(stopAt)) {
      if (record === undefined) continue;
      const resolved = { event: record, link };
      this.#retries.push({ resolved, retries: 0, sequence: undefined, previous: undefined });
    }
    this.pump();
  }

  /** Hands out, in a turn of its own, what somebody has room for. */
  pump(): void {
    if (this.#pumping || this.#closed) return;
    this.#pumping = true;
    queueMicrotask(() => {
      this.#pumping = false;
      if (this.#closed || this.members.size === 0) return;
      this.#retries = this.#handOut(this.#retries);
      let filled: number;
      do {
        this.#fill();
        filled = this.#buffer.length;
        this.#buffer = this.#handOut(this.#buffer);
      } while (this.#buffer.length < filled);
      this.#checkpoint(false);
    });
  }

  close(): void {
    this.#closed = true;
    this.#unwatch();
    this.members.clear();
  }

  /** Removes what the group has written of itself. */
  forget(): void {
    this.#checkpoints.delete();
    this.parked.delete();
  }

  /** Reads as much as fits, in whole batches. */
  #fill(): void {
    const { historyBufferSize, readBatchSize } = this.config.settings;
    while (this.#buffer.length + readBatchSize <= historyBufferSize) {
      const step = this.#source.next();
      if (step === undefined) return;
      this.#sequence += 1;
      const previous = this.#place;
      this.#place = step.place;
      if (!step.matches) continue;
      const resolved = this.#resolve(step.record);
      this.#buffer.push({ resolved, retries: 0, sequence: this.#sequence, previous });
    }
  }

  #resolve(record: LogRecord): Resolved {
    return resolve(record, this.config.settings.resolveLinks, (stream, revision) =>
      visibleRecord(this.#database, stream, revision),
    );
  }

  /** Answers what nobody has room for. */
  #handOut(messages: Message[]): Message[] {
    const kept: Message[] = [];
    for (let index = 0; index < messages.length; index += 1) {
      const message = messages[index]!;
      const choice = this.#chooser.choose(pinnedTo(message));
      if (choice === "stop") return index === 0 ? messages : kept.concat(messages.slice(index));
      if (choice === "skip") kept.push(message);
      else this.#give(choice.seat, message);
    }
    return kept;
  }

  #give(member: Member, message: Message): void {
    const id = outer(message.resolved).id;
    if (this.#inFlight.has(id)) return;
    const { messageTimeout } = this.config.settings;
    const due = messageTimeout > 0 ? this.#database.now() + messageTimeout : Number.POSITIVE_INFINITY;
    this.#inFlight.set(id, { message, member, due });
    this.#chooser.count(member, pinnedTo(message), 1);
    member.inFlight += 1;
    member.total += 1;
    this.total += 1;
    member.send(message.resolved, message.retries);
  }

  #release(id: string): void {
    const flight = this.#inFlight.get(id);
    if (flight === undefined) return;
    this.#inFlight.delete(id);
    flight.member.inFlight -= 1;
    this.#chooser.count(flight.member, pinnedTo(flight.message), -1);
  }

  #retryOrPark(id: string, flight: InFlight): void {
    const { maxRetryCount } = this.config.settings;
    if (flight.message.retries < maxRetryCount) this.#retry(id, flight);
    else this.#park(id, flight, `Reached retry count of ${maxRetryCount}`);
  }

  #retry(id: string, { message }: InFlight): void {
    this.#release(id);
    const again = { ...message, retries: message.retries + 1 };
    const before = this.#retries.findIndex((other) => order(other) > order(again));
    if (before === -1) this.#retries.push(again);
    else this.#retries.splice(before, 0, again);
  }

  #park(id: string, flight: InFlight, reason: string): void {
    this.#release(id);
    this.parked.park(flight.message.resolved.event ?? outer(flight.message.resolved), reason);
  }

  #checkpoint(timed: boolean): void {
    const { checkpointAfter, minCheckpointCount, maxCheckpointCount } = this.config.settings;
    // What is done cannot be more than what was read, which spares the search in most calls.
    const most = this.#sequence - this.#checkpointed;
    if (most < (timed ? Math.min(minCheckpointCount, maxCheckpointCount) : maxCheckpointCount)) return;
    const now = this.#database.now();
    const { sequence, place } = this.#done();
    const difference = sequence - this.#checkpointed;
    if (place === undefined || difference <= 0) return;
    const early = now - this.#checkpointedAt < checkpointAfter;
    if (difference < maxCheckpointCount && (early || !timed || difference < minCheckpointCount)) return;
    this.#checkpointedAt = now;
    this.#checkpointed = sequence;
    this.lastCheckpoint = place;
    this.#checkpoints.write(place);
  }

  /** How far everything is done. */
  #done(): { readonly sequence: number; readonly place: number | undefined } {
    let lowest: Message | undefined = this.#buffer[0];
    const consider = (message: Message) => {
      if (message.sequence !== undefined && (lowest === undefined || message.sequence < lowest.sequence!))
        lowest = message;
    };
    for (const message of this.#retries) consider(message);
    for (const { message } of this.#inFlight.values()) consider(message);
    return lowest === undefined
      ? { sequence: this.#sequence, place: this.#place }
      : { sequence: lowest.sequence! - 1, place: lowest.previous };
  }
}

/** The record whose stream a message is pinned by. */
const pinnedTo = ({ resolved }: Message): LogRecord => resolved.event ?? outer(resolved);

const order = ({ sequence }: Message): number => sequence ?? Number.POSITIVE_INFINITY;
