/**
 * One connection to a consumer group on the server, opened again when it breaks. What comes through it is told to its owner as it is;
 * answers go back the same way.
 *
 * - L1 An answer counts only on the call that the event came by: after a break the server has given the event to somebody again.
 * - L2 The server confirms no answer. {@link Lane.flush} has seen to it that all that were given have gone out and been followed by a
 *   question that was answered.
 * - L3 A connection that has been silent for a heartbeat, and that the server does not know any more, is opened again.
 */
import {
  type Filter,
  PARK,
  type PersistentSubscriptionToAll,
  type PersistentSubscriptionToAllResolvedEvent,
} from "@eventstore/db-client";
import { failureOf } from "./client-errors.ts";
import { type Connection, within } from "./connection.ts";
import { GROUP_SETTINGS } from "./group-settings.ts";
import { Reopening } from "./reopening.ts";

export interface LaneParts {
  readonly connection: Connection;
  readonly deadlineMs: number;
  readonly heartbeatMs: number;
  readonly reconnectForMs: number;
}

/** An event, and the call it came by. */
export interface Arrival {
  readonly resolved: PersistentSubscriptionToAllResolvedEvent;
  readonly call: PersistentSubscriptionToAll;
  readonly lane: Lane;
}

export interface LaneOwner {
  /** The group's name on the server. */
  readonly group: string;
  readonly filter: Filter;
  arrived(arrival: Arrival): void;
  /** The server takes what it gave to the lane for unanswered, and gives it to anybody. */
  broke(lane: Lane): void;
  gaveUp(error: unknown): void;
}

/** Acks that go out in one message; servers take some 2,000. */
const ACKS = 1_000;

export class Lane {
  /** How many events the server may have given to this lane and not been answered about. */
  readonly bufferSize: number;
  /** Resolves when the server has first taken it in. */
  readonly opened: Promise<void>;
  readonly #parts: LaneParts;
  readonly #owner: LaneOwner;
  readonly #reopening: Reopening;
  readonly #unsent: PersistentSubscriptionToAllResolvedEvent[] = [];
  #answering: Promise<void>[] = [];
  #sayOpened: () => void = () => {};
  #call: PersistentSubscriptionToAll | undefined;
  #alive = true;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(parts: LaneParts, owner: LaneOwner, bufferSize: number) {
    this.#parts = parts;
    this.#owner = owner;
    this.bufferSize = bufferSize;
    this.opened = new Promise((resolve) => {
      this.#sayOpened = resolve;
    });
    this.#reopening = new Reopening(parts.reconnectForMs, () => this.#open());
    this.#reopening.begin((error) => owner.gaveUp(error));
  }

  ack({ call, resolved }: Arrival): void {
    if (call !== this.#call) return;
    if (this.#unsent.push(resolved) === 1) Promise.resolve().then(() => this.#sendAcks());
  }

  park({ call, resolved }: Arrival, reason: string): void {
    if (call === this.#call) this.#answer(call.nack(PARK, reason, resolved));
  }

  /** All answers given so far have reached the server, or never will (L2). */
  async flush(): Promise<void> {
    this.#sendAcks();
    if (this.#answering.length === 0) return;
    const { connection, deadlineMs } = this.#parts;
    const question = Promise.all(this.#answering).then(() =>
      connection.client.getPersistentSubscriptionToAllInfo(this.#owner.group, { deadline: deadlineMs }),
    );
    this.#answering = [];
    // An answer to the question is all that is wanted, whatever it says.
    await within(question, deadlineMs, "what follows the last acks").catch(() => {});
  }

  async close(): Promise<void> {
    this.#reopening.stop();
    await this.#hangUp();
  }

  async #open(): Promise<void> {
    const { connection, deadlineMs, heartbeatMs } = this.#parts;
    const { group, filter } = this.#owner;
    try {
      const options = { filter, deadline: deadlineMs, requiresLeader: true };
      const making = connection.client.createPersistentSubscriptionToAll(group, GROUP_SETTINGS, options);
      await within(making, deadlineMs + 1_000, `making consumer group ${JSON.stringify(group)}`);
    } catch (error) {
      if (failureOf(error) !== "group exists") throw error;
    }
    if (this.#reopening.stopped) return;
    const call = connection.client.subscribeToPersistentSubscriptionToAll(
      group,
      { bufferSize: this.bufferSize, requiresLeader: true },
      { highWaterMark: 256 },
    );
    this.#call = call;
    this.#alive = true;
    const broken = (error: unknown): void => {
      if (call === this.#call) this.#broken(error);
    };
    call.on("error", broken);
    call.on("end", () => broken(new Error("the server ended the subscription")));
    call.on("close", () => broken(new Error("the subscription was closed")));
    call.on("confirmation", () => {
      if (call !== this.#call) return;
      this.#reopening.succeeded();
      this.#sayOpened();
    });
    call.on("data", (resolved) => {
      if (call !== this.#call) return;
      this.#alive = true;
      this.#owner.arrived({ resolved, call, lane: this });
    });
    this.#heartbeat = setInterval(() => this.#beat(call), heartbeatMs);
  }

  #broken(error: unknown): void {
    void this.#hangUp();
    this.#owner.broke(this);
    this.#reopening.again(error, (final) => this.#owner.gaveUp(final));
  }

  async #hangUp(): Promise<void> {
    clearInterval(this.#heartbeat);
    const call = this.#call;
    this.#call = undefined;
    this.#unsent.length = 0;
    this.#answering = [];
    // Its listeners stay: an error that nobody hears would end the process.
    await call?.unsubscribe().catch(() => {});
  }

  #sendAcks(): void {
    const call = this.#call;
    while (call !== undefined && this.#unsent.length > 0)
      this.#answer(call.ack(...this.#unsent.splice(0, ACKS)));
  }

  /** Remembers an answer until it has gone out; what stands in its way, the call itself will tell. */
  #answer(sending: Promise<void>): void {
    const sent = sending.catch(() => {});
    this.#answering.push(sent);
    // Those that have gone out need no remembering one by one: the last of them stands for all.
    if (this.#answering.length > 64) this.#answering.splice(0, 32);
  }

  #beat(call: PersistentSubscriptionToAll): void {
    if (this.#alive) {
      this.#alive = false;
      return;
    }
    const { connection, deadlineMs } = this.#parts;
    connection.client
      .getPersistentSubscriptionToAllInfo(this.#owner.group, { deadline: deadlineMs })
      .then(({ connections }) => {
        if (connections.some(({ connectionName }) => connectionName === connection.client.connectionName))
          return;
        throw new Error("the server does not know this consumer any more");
      })
      .catch((error: unknown) => {
        if (call !== this.#call || this.#alive || WITHOUT_MEANING.has(failureOf(error))) return;
        this.#broken(error);
      });
  }
}

/** The server does not tell about groups, or not to us: nothing follows from that. */
const WITHOUT_MEANING: ReadonlySet<string> = new Set(["denied", "unsupported", "invalid"]);
