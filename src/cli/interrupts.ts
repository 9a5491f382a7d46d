/** Ctrl-C and a polite request to end: the first is an event to react to, the second ends the process at once. */
import { EXIT } from "./usage-error.ts";

export interface Interrupts {
  /** Resolves with the exit code that belongs to the first signal. */
  readonly first: Promise<number>;
  /** Signals do again what they always do. */
  release(): void;
}

const CODES = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated } as const;

export const listenForInterrupts = (): Interrupts => {
  const first = Promise.withResolvers<number>();
  let asked = false;
  const listener = (signal: NodeJS.Signals): void => {
    const code = CODES[signal as keyof typeof CODES];
    if (asked) process.exit(code);
    asked = true;
    first.resolve(code);
  };
  for (const signal of Object.keys(CODES)) process.on(signal, listener);
  return {
    first: first.promise,
    release() {
      for (const signal of Object.keys(CODES)) process.off(signal, listener);
    },
  };
};
