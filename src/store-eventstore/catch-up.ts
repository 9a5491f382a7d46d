/**
 * One catch-up subscription that lasts: the client's ends with its connection and is not opened again, says `caughtUp` as often as it
 * likes, and cannot be told from one that has gone silent.
 *
 * - S1 What was delivered is never delivered again: whatever is opened begins behind it, and an event at or before it is ignored.
 * - S2 It is opened again only behind places known to be right: an event delivered, or the end of the log as it was before a
 *   subscription was opened that has caught up since. What the server sends as checkpoints is a sign of life and nothing more: versions
 *   of it are known that send wrong ones.
 * - S3 CaughtUp is said once, at the end of the log as it was when the subscription was first opened: before the first event behind it,
 *   or when the server says that there are no more.
 * - S4 Nothing is thrown into the client, and every call that was opened is cancelled.
 * - S5 A subscription that has heard nothing for a heartbeat, while the log grew, is opened again.
 */
import type { AllStreamResolvedEvent, AllStreamSubscription } from "@eventstore/db-client";
import type { Subscriber } from "rxjs";
import {
  type CaughtUp,
  comparePositions,
  type Position,
  passes,
  type RecordedEvent,
  type SubscribeOptions,
} from "../events/event-log.ts";
import { storeErrorOf } from "./client-errors.ts";
import type { Connection } from "./connection.ts";
import { serverFilter } from "./filters.ts";
import { positionOf } from "./positions.ts";
import type { Reader } from "./reader.ts";
import { recorded } from "./records.ts";
import { Reopening } from "./reopening.ts";

export interface CatchUpParts {
  readonly connection: Connection;
  readonly reader: Reader;
  readonly server: string;
  readonly heartbeatMs: number;
  readonly reconnectForMs: number;
}

export class CatchUp {
  readonly #parts: CatchUpParts;
  readonly #options: SubscribeOptions;
  readonly #subscriber: Subscriber<RecordedEvent | CaughtUp>;
  readonly #reopening: Reopening;
  #call: AllStreamSubscription | undefined;
  /** All that matches up to here was delivered; `undefined` is the beginning of the log. */
  #lookedTo: Position | undefined;
  /** Where the log ended before the call was opened. */
  #head: Position | undefined;
  /** Where CaughtUp is to be said; set once. */
  #goal: { readonly position: Position | undefined } | undefined;
  #saidCaughtUp = false;
  #alive = true;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(
    parts: CatchUpParts,
    options: SubscribeOptions,
    subscriber: Subscriber<RecordedEvent | CaughtUp>,
  ) {
    this.#parts = parts;
    this.#options = options;
    this.#subscriber = subscriber;
    this.#lookedTo = options.after === "start" || options.after === "end" ? undefined : options.after;
    this.#reopening = new Reopening(parts.reconnectForMs, () => this.#open());
    this.#reopening.begin(this.#failed);
  }

  /** Ends the subscription without a word. */
  stop(): void {
    this.#reopening.stop();
    this.#hangUp();
  }

  complete(): void {
    this.stop();
    this.#subscriber.complete();
  }

  readonly #failed = (error: unknown): void => {
    this.stop();
    this.#subscriber.error(storeErrorOf(this.#parts.server, error));
  };

  async #open(): Promise<void> {
    const head = await this.#parts.reader.head();
    if (this.#subscriber.closed) return;
    this.#head = head;
    if (this.#goal === undefined) {
      if (this.#options.after === "end") this.#lookedTo = head;
      this.#goal = { position: head };
    }
    this.#hangUp();
    const call = this.#parts.connection.client.subscribeToAll({
      fromPosition: this.#parts.reader.placeOf(this.#lookedTo),
      filter: serverFilter(this.#options.filter, () => {
        this.#alive = true;
      }),
      requiresLeader: true,
    });
    this.#call = call;
    this.#alive = true;
    const current = (act: () => void) => () => {
      if (call === this.#call) act();
    };
    const broken = (error: unknown) => current(() => this.#broken(error))();
    call.on("error", broken);
    call.on("end", () => broken(new Error("the server ended the subscription")));
    call.on("close", () => broken(new Error("the subscription was closed")));
    call.on(
      "confirmation",
      current(() => this.#reopening.succeeded()),
    );
    call.on(
      "caughtUp",
      current(() => this.#caughtUp()),
    );
    call.on("data", (resolved: AllStreamResolvedEvent) => current(() => this.#heard(resolved))());
    this.#heartbeat = setInterval(() => this.#beat(), this.#parts.heartbeatMs);
  }

  #heard({ event }: AllStreamResolvedEvent): void {
    this.#alive = true;
    const position = positionOf(event?.position);
    if (position === undefined || this.#hasPassed(position)) return;
    if (this.#goal !== undefined && isAfter(position, this.#goal.position)) this.#sayCaughtUp();
    if (this.#subscriber.closed) return;
    this.#lookedTo = position;
    const known = recorded(event);
    const { filter } = this.#options;
    if (known !== undefined && passes(filter, known.stream, known.type)) this.#subscriber.next(known);
  }

  /** The server has sent all there was: that is at least all there was before the call was opened. */
  #caughtUp(): void {
    this.#alive = true;
    if (this.#head !== undefined && !this.#hasPassed(this.#head)) this.#lookedTo = this.#head;
    this.#sayCaughtUp();
  }

  #sayCaughtUp(): void {
    if (this.#saidCaughtUp) return;
    this.#saidCaughtUp = true;
    // An event before the goal may have been the last to come; one behind it is yet to be handed on.
    const { position } = this.#goal ?? { position: undefined };
    const reached = position === undefined || isAfter(this.#lookedTo, position) ? this.#lookedTo : position;
    this.#subscriber.next({ _tag: "CaughtUp", position: reached });
  }

  #hasPassed(position: Position): boolean {
    return !isAfter(position, this.#lookedTo);
  }

  #broken(error: unknown): void {
    this.#hangUp();
    this.#reopening.again(error, this.#failed);
  }

  #hangUp(): void {
    clearInterval(this.#heartbeat);
    const call = this.#call;
    this.#call = undefined;
    // Its listeners stay, and find that it is not the current one: an error that nobody hears would end the process.
    call?.unsubscribe().catch(() => {});
  }

  /** Silent for a whole heartbeat: that is well as long as the log stands still. */
  #beat(): void {
    if (this.#alive) {
      this.#alive = false;
      return;
    }
    const asked = this.#call;
    const { reader, heartbeatMs } = this.#parts;
    reader.head().then(
      (head) => {
        if (asked !== this.#call || this.#alive || head === undefined || this.#hasPassed(head)) return;
        this.#broken(new Error(`nothing came for ${heartbeatMs} ms while the log grew`));
      },
      (error: unknown) => {
        if (asked === this.#call && asked !== undefined) this.#broken(error);
      },
    );
  }
}

const isAfter = (a: Position | undefined, b: Position | undefined): boolean =>
  a !== undefined && (b === undefined || comparePositions(a, b) > 0);
