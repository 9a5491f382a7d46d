/**
 * Answers: turns what a body asks into a promise that the walk's releases settle, in the right place of the order.
 *
 * A result's place is taken when it is proposed to the journal, not when the journal replies: that is the order in which the stream
 * will have it. A promise of the context never counts as unhandled: a body may leave one alone, and a suspended walk does.
 *
 * What a step's body asks for is answered at once and outside that order: no replay asks for it again once the step has settled, and a
 * step in flight has to come to rest even when the walk around it is given up.
 */
import type { Settlement, StepEntry } from "../journal-store.ts";
import { settlementName } from "../session/settlements.ts";
import { currentStep } from "../step-context.ts";
import type { Hand, Place } from "./releases.ts";
import type { Walk } from "./walk.ts";

/** Something that ends a parked wait, and what is to be done then: in flight until its promise settles. */
export interface WaitEnd {
  readonly what: Settlement;
  readonly resume: () => Promise<void>;
}

/** One question of the body's that is being settled now. */
export interface Question<T> {
  /** Gives the body its result; without a place, in the next one. */
  give(result: T, place?: Place): void;
  /** The wait is not over, so the walk may end on it. While it goes on, the first of `ends` that somebody else brings about is seen to. */
  park(wakeAt: number | undefined, ends: readonly WaitEnd[]): void;
}

/** A place that may or may not come to be taken. */
interface LatePlace {
  readonly take: () => void;
  readonly taken: () => Place | undefined;
  readonly drop: () => void;
}

export interface Answers {
  /** Had it settled when the walk began, at a known place in the order? */
  isRecorded(what: Settlement): boolean;
  /** The answer to a question that was settled before this walk. */
  recorded(what: Settlement, produce: () => unknown): Promise<unknown>;
  /** The answer to a question that `work` settles now: it gives its result once, or parks it, or rejects. */
  live<T>(
    what: Settlement,
    produce: (result: T) => unknown,
    work: (question: Question<T>) => Promise<void>,
  ): Promise<unknown>;
  place(): LatePlace;
  /** Proposes `entry` and gives what stands: at once where the journal allows it (then it answers nothing), else when it is recorded. */
  settle(entry: StepEntry, question: Question<StepEntry>): Promise<void> | undefined;
  /** The same for a step inside a step, which is told only what is recorded. */
  settleInside(entry: StepEntry, question: Question<StepEntry>): Promise<void>;
}

export const createAnswers = (walk: Walk, order: readonly Settlement[] | undefined): Answers => {
  const { journal, releases } = walk;
  const places = new Map(order?.map((what, place) => [settlementName(what), place]));

  return {
    isRecorded: (what) => places.has(settlementName(what)),

    recorded(what, produce) {
      const place = places.get(settlementName(what));
      const outer = currentStep();
      if (outer === undefined && walk.spent) return walk.forever;
      return handled((resolve, reject) => {
        const fail = (error: unknown): void => {
          if (outer !== undefined) walk.troubleInside(outer.key, error);
          if (outer !== undefined || !walk.over) reject(error);
        };
        const hand: Hand = () => settleWith(produce, resolve, fail);
        if (outer !== undefined) void hand();
        else if (place === undefined) walk.hold(async () => hand(), fail);
        else releases.recorded(place, hand);
      });
    },

    live: <T>(
      what: Settlement,
      produce: (result: T) => unknown,
      work: (question: Question<T>) => Promise<void>,
    ) => {
      const outer = currentStep();
      if (outer !== undefined) {
        return handled((resolve, reject) => {
          const fail = (error: unknown): void => {
            walk.troubleInside(outer.key, error);
            reject(error);
          };
          const give = (result: T): void => void settleWith(() => produce(result), resolve, fail);
          walk.hold(() => work({ give, park: () => {} }), fail);
        });
      }
      if (walk.doomed) return walk.forever;
      return handled((resolve, reject) => {
        journal.asked(what);
        const question = new LiveQuestion(walk, what, produce, resolve, reject);
        walk.hold(() => work(question), question.fail);
      });
    },

    place() {
      let place: Place | undefined;
      return {
        take: () => {
          place = releases.reserve();
        },
        taken: () => place,
        drop: () => place?.drop(),
      };
    },

    settle(entry, question) {
      const { early, recorded } = journal.settle(entry);
      const place = releases.reserve();
      if (early !== undefined) {
        question.give(early, place);
        return undefined;
      }
      return recorded.then(
        (stored) => question.give(stored, place),
        (error) => {
          place.drop();
          throw error;
        },
      );
    },

    settleInside: (entry, question) => journal.inside.settle(entry).then((stored) => question.give(stored)),
  };
};

/** Answered in its place of the order. A class: there is one for every step. */
class LiveQuestion<T> implements Question<T> {
  readonly #walk: Walk;
  readonly #what: Settlement;
  readonly #produce: (result: T) => unknown;
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    walk: Walk,
    what: Settlement,
    produce: (result: T) => unknown,
    resolve: (value: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    this.#walk = walk;
    this.#what = what;
    this.#produce = produce;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  give(result: T, place: Place = this.#walk.releases.reserve()): void {
    place.fill(() => this.#answer(() => this.#produce(result)));
  }

  park(wakeAt: number | undefined, ends: readonly WaitEnd[]): void {
    const { journal } = this.#walk;
    const unpark = this.#walk.park(wakeAt);
    for (const { what: end, resume } of ends) {
      journal.parked(end, () => {
        if (!unpark()) return;
        for (const other of ends) journal.unparked(other.what);
        this.#walk.hold(resume, this.fail);
      });
    }
  }

  readonly fail = (error: unknown): void => {
    if (this.#walk.endsWithout(error)) return;
    this.#walk.tells(error);
    this.#walk.releases.live(() =>
      this.#answer(() => {
        throw error;
      }),
    );
  };

  #answer(produce: () => unknown): void | Promise<void> {
    this.#walk.journal.answered(this.#what);
    // Nobody listens to a body that has ended: a branch it left behind must not end the process for a failure.
    return settleWith(produce, this.#resolve, (error) => {
      if (!this.#walk.over) this.#reject(error);
    });
  }
}

/** A promise whose rejection nobody has to handle. */
const handled = (executor: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => void) => {
  const promise = new Promise<unknown>(executor);
  promise.catch(unheeded);
  return promise;
};

const unheeded = (): void => {};

const settleWith = (
  produce: () => unknown,
  resolve: (value: unknown) => void,
  reject: (error: unknown) => void,
): void | Promise<void> => {
  try {
    const produced = produce();
    if (!(produced instanceof Promise)) return resolve(produced);
    return produced.then(resolve, reject);
  } catch (error) {
    reject(error);
  }
};
