/**
 * What the values of one attempt share while they are written and read: the run they belong to, its key, and what they leave behind.
 * A stream or a signal is more than a value: it keeps working after it was read, and has to be waited for or torn down.
 */
import type { EncryptionKey } from "./encryption.ts";
import type { World } from "./world.ts";

/** Promises whose rejection is always looked at by somebody, however late their reader comes. */
export class Operations extends Array<Promise<unknown>> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  override push(...operations: Promise<unknown>[]): number {
    for (const operation of operations) Promise.resolve(operation).catch(() => undefined);
    return super.push(...operations);
  }
}

/** The live side of a payload: streams and signals reach their World through it. */
export interface LiveScope {
  readonly world: World;
  readonly runId: string;
  readonly key: () => Promise<EncryptionKey | undefined>;
  /** Settles when the run exists for certain; a World may be written to only then. */
  readonly ready: Promise<unknown> | undefined;
  readonly ops: Operations;
  readonly preCompletionOps: Operations;
  /** Asked once the body is over: which streams that it was given are still being written. */
  readonly writers: (() => Promise<void> | undefined)[];
  /** Called once the body is over, on success and failure. */
  readonly teardown: (() => void)[];
}
