/**
 * Releases: hands results to the body one at a time, recorded ones in the order of the run's stream, then live ones in the order in
 * which they were recorded. It is what makes `Promise.race` and every interleaving come out the same on every walk (law L1).
 *
 * Invariants:
 * - V1 Between two results the turn is quiet: the body has reacted to the first one to the end of its microtasks, and has asked for
 *   whatever it asks for next, before the second one is chosen.
 * - V2 Of the recorded results asked for, the earliest in the stream comes first. One that nobody has asked for by then is skipped:
 *   it belongs to a step inside a step, or to a branch that this body no longer takes.
 * - V3 A live result never overtakes a recorded one that has been asked for, nor a live one whose place was taken before.
 * - V4 Handing a result over may take time (a schema); the next one waits for it.
 */

/** Gives one result to the body; a promise is awaited before the next result. */
export type Hand = () => void | Promise<void>;

/** A place in the order of live results, taken when the result was proposed to the journal. Fill it or drop it. */
export interface Place {
  fill(hand: Hand): void;
  /** There is no result after all (the wait goes on). Does nothing to a place that is filled. */
  drop(): void;
}

class LivePlace implements Place {
  readonly #onChange: () => void;
  hand: Hand | undefined;
  dropped = false;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  fill(hand: Hand): void {
    this.hand = hand;
    this.#onChange();
  }

  drop(): void {
    if (this.hand !== undefined) return;
    this.dropped = true;
    this.#onChange();
  }
}

const RESOLVED = Promise.resolve();

export class Releases {
  readonly #recorded = new Map<number, Hand>();
  readonly #onQuiet: () => void;
  #live: LivePlace[] = [];
  #nextLive = 0;
  /** No recorded result before this place is asked for. */
  #low = 0;
  #handing = false;
  #checking = false;
  #quiet = false;
  #frozen = false;

  /** `onQuiet` is called whenever the turn is quiet and there is nothing to hand over. */
  constructor(onQuiet: () => void) {
    this.#onQuiet = onQuiet;
  }

  /**
   * Nothing is being handed over or waits for it, and the body has come to rest since the last result: one tick may follow another
   * without the microtasks in between, so that a result just handed over is not enough to go by.
   */
  get idle(): boolean {
    return this.#quiet && !this.#handing && this.#recorded.size === 0 && this.#nextLive === this.#live.length;
  }

  /** The body is about to run on its own: nothing is handed over before it has come to rest. */
  begin(): void {
    this.#quiet = false;
    this.#check();
  }

  /** A result that stands at `place` in the order of the stream. */
  recorded(place: number, hand: Hand): void {
    if (this.#frozen) return;
    this.#recorded.set(place, hand);
    if (place < this.#low) this.#low = place;
    this.#check();
  }

  /** Takes the next place among the live results. */
  reserve(): Place {
    const place = new LivePlace(this.#goOn);
    this.#live.push(place);
    return place;
  }

  /** A live result that is known as soon as it has its place. */
  live(hand: Hand): void {
    this.reserve().fill(hand);
  }

  /** Hands over nothing any more. */
  freeze(): void {
    this.#frozen = true;
    this.#recorded.clear();
    this.#live = [];
    this.#nextLive = 0;
  }

  readonly #goOn = (): void => {
    if (this.#frozen) return;
    if (this.#quiet && !this.#handing && this.#recorded.size === 0) this.#handNext();
    else this.#check();
  };

  /** Looks again once the microtasks of this turn have run: the hop keeps `nextTick` callbacks from running back to back. */
  #check(): void {
    if (this.#checking || this.#frozen) return;
    this.#checking = true;
    // A reaction costs a part of what `queueMicrotask` does, once for every step that is replayed.
    void RESOLVED.then(this.#inNextTick);
  }

  readonly #inNextTick = (): void => process.nextTick(this.#whenDrained);

  readonly #whenDrained = (): void => {
    this.#checking = false;
    if (this.#handing || this.#frozen) return;
    if (this.#recorded.size === 0) this.#quiet = true;
    this.#handNext();
  };

  #handNext(): void {
    const hand = this.#take();
    if (hand === undefined) {
      if (this.idle) this.#onQuiet();
      return;
    }
    this.#quiet = false;
    const handed = hand();
    if (handed === undefined) return this.#check();
    this.#handing = true;
    const done = (): void => {
      this.#handing = false;
      this.#check();
    };
    handed.then(done, done);
  }

  #take(): Hand | undefined {
    if (this.#recorded.size > 0) {
      while (!this.#recorded.has(this.#low)) this.#low += 1;
      const hand = this.#recorded.get(this.#low);
      this.#recorded.delete(this.#low);
      this.#low += 1;
      return hand;
    }
    while (this.#live[this.#nextLive]?.dropped === true) this.#nextLive += 1;
    const hand = this.#live[this.#nextLive]?.hand;
    if (hand !== undefined) this.#nextLive += 1;
    if (this.#nextLive === this.#live.length && this.#nextLive > 0) {
      this.#live = [];
      this.#nextLive = 0;
    }
    return hand;
  }
}
