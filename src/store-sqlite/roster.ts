/**
 * The consumers of a group in this process: who has room, and whose a stream is. Only memory, no rows.
 *
 * - A1 A stream is its consumer's while that has unacked deliveries of it, and as long as it is remembered afterwards.
 */

import type { RecordedEvent } from "../events/event-log.ts";
import type { Consumer, Held } from "./consumer.ts";

const REMEMBERED_STREAMS = 16_384;

interface Charge {
  readonly consumer: Consumer;
  count: number;
}

export class Roster {
  readonly #consumers = new Set<Consumer>();
  /** Who has unacked deliveries of a stream. */
  readonly #charges = new Map<number, Charge>();
  /** Who had a stream last. */
  readonly #homes = new Map<number, Consumer>();

  get size(): number {
    return this.#consumers.size;
  }

  [Symbol.iterator](): Iterator<Consumer> {
    return this.#consumers.values();
  }

  add(consumer: Consumer): void {
    this.#consumers.add(consumer);
  }

  /** Answers whether the consumer was there. What it held is nobody's. */
  remove(consumer: Consumer): boolean {
    if (!this.#consumers.delete(consumer)) return false;
    this.release(consumer);
    return true;
  }

  /** The consumer loses what it holds, and stays. */
  release(consumer: Consumer): void {
    for (const held of consumer.letGo()) this.discharge(held.stream);
  }

  byId(id: number | null | undefined): Consumer | undefined {
    for (const consumer of this.#consumers)
      if (consumer.id !== undefined && consumer.id === id) return consumer;
    return undefined;
  }

  /** Is somebody not registered in the file yet? */
  get hasNewcomers(): boolean {
    for (const { id } of this.#consumers) if (id === undefined) return true;
    return false;
  }

  get hasAnswers(): boolean {
    for (const { answers } of this.#consumers) if (answers.length > 0) return true;
    return false;
  }

  get hasRoom(): boolean {
    for (const { room } of this.#consumers) if (room > 0) return true;
    return false;
  }

  get room(): number {
    let room = 0;
    for (const consumer of this.#consumers) room += Math.max(0, consumer.room);
    return room;
  }

  get roomiest(): Consumer | undefined {
    let best: Consumer | undefined;
    for (const consumer of this.#consumers) if (consumer.room > (best?.room ?? 0)) best = consumer;
    return best;
  }

  chargedWith(stream: number): Consumer | undefined {
    return this.#charges.get(stream)?.consumer;
  }

  homeOf(stream: number): Consumer | undefined {
    const home = this.#homes.get(stream);
    return home !== undefined && this.#consumers.has(home) ? home : undefined;
  }

  /** The transaction under way gives `event` to the consumer. */
  give(consumer: Consumer, held: Held, event: RecordedEvent): void {
    consumer.staged.push({ held, event });
    const charge = this.#charges.get(held.stream);
    if (charge === undefined) this.#charges.set(held.stream, { consumer, count: 1 });
    else charge.count += 1;
    if (this.#homes.get(held.stream) === consumer) return;
    this.#homes.set(held.stream, consumer);
    if (this.#homes.size > REMEMBERED_STREAMS) this.#homes.delete(this.#homes.keys().next().value!);
  }

  /** The transaction under way gives nothing after all. */
  takeBack(): void {
    for (const consumer of this.#consumers) {
      for (const { held } of consumer.staged) this.discharge(held.stream);
      consumer.staged = [];
    }
  }

  /** One delivery of the stream was answered. */
  discharge(stream: number): void {
    const charge = this.#charges.get(stream);
    if (charge === undefined) return;
    charge.count -= 1;
    if (charge.count === 0) this.#charges.delete(stream);
  }
}
