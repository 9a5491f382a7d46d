/**
 * One read of the client as an iteration that cannot hang and leaves no call open on the server: the client gives reads no deadline,
 * and a `for await` that is left early does not cancel them.
 */
import type { StreamingRead } from "@eventstore/db-client";
import { LateError } from "./client-errors.ts";

/** Throws a {@link LateError} when nothing has come for `silenceMs` while somebody waited for it. */
export async function* pull<T>(
  source: StreamingRead<T>,
  silenceMs: number,
): AsyncGenerator<T, void, undefined> {
  let failure: { readonly error: unknown } | undefined;
  let ended = false;
  let stirred = false;
  let wake = (): void => {};
  const stir = (): void => {
    stirred = true;
    wake();
  };
  source.on("error", (error) => {
    failure ??= { error };
    stir();
  });
  const end = (): void => {
    ended = true;
    stir();
  };
  source.on("end", end).on("close", end).on("readable", stir);
  const stirring = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new LateError(`nothing came for ${silenceMs} ms in the middle of a read`)),
        silenceMs,
      );
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  try {
    for (;;) {
      stirred = false;
      const item = source.read() as T | null;
      if (item !== null) {
        yield item;
        continue;
      }
      if (failure !== undefined) throw failure.error;
      if (ended) return;
      if (!stirred) await stirring();
    }
  } finally {
    // Without its stream there is nothing to cancel, which the client tells by a rejection.
    if (!ended) source.cancel().catch(() => {});
  }
}
