/**
 * The questions of a run: which one a call asks, whether it is answered, and which ones wait.
 *
 * A question is known again by what it asks, not by when it asks it: in concurrent branches the order of the calls can differ from run
 * to run, and an answer must never reach another question. The first time a question is asked it takes the lowest free index; the
 * checkpoint records by what it is known, so that it has the same id on every later run.
 *
 * Invariants:
 * - Q1 One identity has one id, and one id one identity, as long as the thread goes on.
 * - Q2 Asked one after another, questions have the ids `<workflow>:interrupt:0`, `…:1` and so on, in the order of the calls.
 * - Q3 The same words and payload asked again in one run are another question, known by how often they were asked before.
 * - Q4 A question that was never recorded as asked (in a checkpoint of another writer) is known by its index alone, which is the order of
 *   the calls.
 */
import { hash } from "node:crypto";
import type { InterruptRequest, PendingInterrupt } from "./graph-types.ts";
import { StepKeys } from "./step-keys.ts";

export interface QuestionsOptions {
  readonly workflow: string;
  /** All answers so far, by id. */
  readonly answers: ReadonlyMap<string, unknown>;
  /** By what the questions asked so far are known, by id. */
  readonly asked: ReadonlyMap<string, string>;
}

/** What a call asks. */
export interface Question {
  readonly id: string;
  readonly index: number;
  readonly identity: string;
}

export class Questions {
  readonly #answers: ReadonlyMap<string, unknown>;
  readonly #prefix: string;
  readonly #ids = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #indexes = new Map<string, number>();
  readonly #occurrences = new StepKeys();
  #lowest = 0;
  readonly #waiting: { readonly question: Question; readonly interrupt: PendingInterrupt }[] = [];

  constructor({ workflow, answers, asked }: QuestionsOptions) {
    this.#answers = answers;
    this.#prefix = `${workflow}:interrupt:`;
    for (const [id, identity] of asked) {
      this.#ids.set(identity, id);
      this.#take(id);
    }
  }

  /** The question that this call asks. Throws `TypeError` for a key that cannot name one. */
  question(request: InterruptRequest): Question {
    const { key } = request;
    if (key !== undefined) checkKey(key);
    const identity = this.#occurrences.next(key === undefined ? contentOf(request) : `=${key}`);
    const known = this.#ids.get(identity);
    const id = known ?? (key === undefined ? this.#lowestFree() : `${this.#prefix}${identity.slice(1)}`);
    if (known === undefined) {
      this.#ids.set(identity, id);
      this.#take(id);
    }
    return { id, index: this.#indexes.get(id) as number, identity };
  }

  isAnswered(id: string): boolean {
    return this.#answers.has(id);
  }

  answer(id: string): unknown {
    return structuredClone(this.#answers.get(id));
  }

  wait(question: Question, interrupt: PendingInterrupt): void {
    this.#waiting.push({ question, interrupt });
  }

  /** In the order in which they were asked in this run. */
  get waiting(): PendingInterrupt[] {
    return this.#waiting.map(({ interrupt }) => interrupt);
  }

  /** By what they are known, by id. */
  get identities(): ReadonlyMap<string, string> {
    return new Map(this.#waiting.map(({ question }) => [question.id, question.identity]));
  }

  /** A question's place among the thread's: the number in its id, or, named by a key, the next one. */
  #take(id: string): void {
    const text = id.slice(this.#prefix.length);
    this.#indexes.set(id, WHOLE_NUMBER.test(text) ? Number(text) : this.#taken.size);
    this.#taken.add(id);
  }

  #lowestFree(): string {
    while (this.#taken.has(`${this.#prefix}${this.#lowest}`)) this.#lowest += 1;
    return `${this.#prefix}${this.#lowest}`;
  }
}

const WHOLE_NUMBER = /^\d+$/;

const checkKey = (key: string): void => {
  if (typeof key === "string" && key !== "" && !WHOLE_NUMBER.test(key)) return;
  throw new TypeError(
    `The key of a question is ${JSON.stringify(key)}. Give a text that is neither empty nor a whole number, which an index could be.`,
  );
};

/** The same for a request and for what a JSON store makes of it. */
const contentOf = ({ reason, payload }: InterruptRequest): string =>
  hash("sha256", textOf([reason, payload]) ?? textOf([reason]) ?? "", "base64url").slice(0, 22);

const textOf = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? `${part}n` : part));
  } catch {
    return undefined;
  }
};
