/**
 * One `consume` call: what it holds, what it has answered, and what it will be given when the transaction under way commits.
 *
 * - C1 It never holds more than `maxInFlight`; what the transaction under way gives it counts.
 * - C2 An answer counts once, and only while the delivery is still this consumer's.
 */
import type { Subscriber } from "rxjs";
import type { Consumed, RecordedEvent } from "../events/event-log.ts";

export interface Held {
  readonly stream: number;
  readonly place: number;
  readonly redeliveries: number;
}

export type Answer =
  | { readonly _tag: "ack"; readonly held: Held }
  | { readonly _tag: "retry"; readonly held: Held; readonly due: number }
  | { readonly _tag: "park"; readonly held: Held; readonly reason: string };

interface Given {
  readonly held: Held;
  readonly event: RecordedEvent;
}

export class Consumer {
  readonly subscriber: Subscriber<Consumed>;
  readonly maxInFlight: number;
  readonly #held = new Map<number, Held>();
  readonly #answered: (consumer: Consumer, answer: Answer) => void;
  readonly #clock: () => number;
  /** The number of its row, once it is registered. */
  id: number | undefined;
  staged: Given[] = [];
  answers: Answer[] = [];

  constructor(
    subscriber: Subscriber<Consumed>,
    maxInFlight: number,
    clock: () => number,
    answered: (consumer: Consumer, answer: Answer) => void,
  ) {
    this.subscriber = subscriber;
    this.maxInFlight = maxInFlight;
    this.#clock = clock;
    this.#answered = answered;
  }

  get room(): number {
    return this.maxInFlight - this.#held.size - this.staged.length;
  }

  /** Gives up all it holds or was to be given; answers what that was. Its answers stay to be written. */
  letGo(): Held[] {
    const given = [...this.#held.values(), ...this.staged.map(({ held }) => held)];
    this.#held.clear();
    this.staged = [];
    return given;
  }

  /** The transaction is committed: hands over what it gave. */
  emit(): void {
    const given = this.staged;
    if (given.length === 0) return;
    this.staged = [];
    for (const { held } of given) this.#held.set(held.place, held);
    for (const { held, event } of given) {
      if (this.subscriber.closed) return;
      this.subscriber.next(this.#consumed(held, event));
    }
  }

  #consumed(held: Held, event: RecordedEvent): Consumed {
    return {
      event,
      redeliveries: held.redeliveries,
      ack: () => this.#answer({ _tag: "ack", held }),
      nack: (action, reason, delayMs = 0) =>
        this.#answer(
          action === "park"
            ? { _tag: "park", held, reason }
            : { _tag: "retry", held, due: this.#clock() + delayMs },
        ),
    };
  }

  #answer(answer: Answer): void {
    if (this.#held.get(answer.held.place) !== answer.held) return;
    this.#held.delete(answer.held.place);
    this.answers.push(answer);
    this.#answered(this, answer);
  }
}
