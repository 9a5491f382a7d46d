/**
 * The sending side of one streamed call: says when the client has had enough for now, and when the call is over.
 *
 * - O1 One listener of each kind for a call, however much is sent.
 */
import type { Failure } from "./failures.ts";

/** What grpc-js's two kinds of server stream have in common. */
interface Sink<Message> {
  readonly cancelled: boolean;
  write(message: Message): boolean;
  end(): unknown;
  emit(event: "error", failure: Failure): boolean;
  on(event: string, listener: () => void): unknown;
}

export class Outlet<Message> {
  readonly #call: Sink<Message>;
  #full = false;
  #over = false;
  #waiting: (() => void) | undefined;
  #woken = false;
  #ended: (() => void)[] = [];

  constructor(call: Sink<Message>) {
    this.#call = call;
    call.on("drain", () => {
      this.#full = false;
      this.wake();
    });
    const over = () => this.#finish();
    call.on("cancelled", over);
    call.on("close", over);
    call.on("error", over);
    if (call.cancelled) this.#finish();
  }

  get over(): boolean {
    return this.#over;
  }

  /** May something be sent? */
  get open(): boolean {
    return !this.#full && !this.#over;
  }

  send(message: Message): void {
    if (this.#over) return;
    this.#full = !this.#call.write(message);
  }

  end(): void {
    if (this.#over) return;
    this.#call.end();
    this.#finish();
  }

  fail(failure: Failure): void {
    if (this.#over) return;
    this.#call.emit("error", failure);
    this.#finish();
  }

  /** Calls `then` once when the call is over, whoever ended it. */
  onOver(then: () => void): void {
    if (this.#over) then();
    else this.#ended.push(then);
  }

  /** Ends {@link idle}. */
  wake(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#woken = true;
    else waiting();
  }

  /** Until the client takes more, the call is over, or `wake` has been called since the last `idle`. */
  idle(): Promise<void> {
    if (this.#woken || this.#over) {
      this.#woken = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    for (const then of this.#ended.splice(0)) then();
    this.wake();
  }
}
