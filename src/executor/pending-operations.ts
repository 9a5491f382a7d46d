/**
 * What a body leaves running: the streams it still writes. They get a moment before the outcome is written; what is not over then goes
 * on in the care of the platform, and the caller is told.
 */
import { consoleLogger } from "../engine/logger.ts";
import { nameOf } from "./thrown.ts";

/** How long the outcome waits for pending operations, in milliseconds. */
export const OPERATIONS_WINDOW_MS = 500;

/** Whoever read the other end has gone: nothing is wrong. */
const isDisconnect = (error: unknown): boolean => {
  const name = nameOf(error);
  return name === "AbortError" || name === "ResponseAborted";
};

interface RequestContext {
  get?(): { waitUntil?(promise: Promise<unknown>): void } | undefined;
}

/** A platform that stops a function after its answer is asked not to, where it can be asked. The promise never rejects. */
const keepAlive = (promise: Promise<unknown>): void => {
  const holder = globalThis as unknown as Record<symbol, RequestContext | undefined>;
  holder[Symbol.for("@vercel/request-context")]?.get?.()?.waitUntil?.(promise);
};

/**
 * Waits for the operations, {@link OPERATIONS_WINDOW_MS} at most. `true` when some are still pending. Rejects when one fails in that
 * time, unless its reader has gone; one that fails later is logged.
 */
export const operationsPending = async (
  operations: readonly Promise<unknown>[],
  about: { runId: string; stepId: string },
): Promise<boolean> => {
  if (operations.length === 0) return false;
  let late = false;
  const settled = Promise.all(operations).then(
    () => false,
    (error: unknown) => {
      if (isDisconnect(error)) return false;
      if (late) {
        consoleLogger.error("An operation that a step left pending failed", { ...about, error });
      }
      throw error;
    },
  );
  keepAlive(settled.catch(() => false));
  let timer: NodeJS.Timeout | undefined;
  const window = new Promise<true>((resolve) => {
    timer = setTimeout(() => {
      late = true;
      resolve(true);
    }, OPERATIONS_WINDOW_MS);
  });
  try {
    return await Promise.race([settled, window]);
  } finally {
    clearTimeout(timer);
  }
};
