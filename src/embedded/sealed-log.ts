/**
 * Sealed payloads for any store: an EventLog whose events are sealed on their way in and opened on their way out. Whoever reads the store
 * without it sees every event, who did what and when, and of the payloads how they are sealed.
 *
 * Not here: how a field is sealed (events/sealed-events.ts).
 *
 * Invariants:
 * - S1 Through it a log is the same log: what is read is what was appended. Only what does not open stays as it is stored.
 * - S2 Where the keys have none for a run, nothing of that run is written unsealed: the append is `Unavailable`.
 * - S3 Keys are asked for once per append and once per read of a stream, and not kept: a key that is deleted opens nothing from then on.
 */
import { left } from "fp-ts/lib/Either.js";
import { catchError, concatMap, EMPTY, from, map, type Observable, of } from "rxjs";
import { RejectionError } from "../engine/rejection-error.ts";
import type { Consumed, EventData, EventLog, RecordedEvent } from "../events/event-log.ts";
import { KEY_BYTES } from "../events/payload-seal.ts";
import { hasPrivateFields, isEncrypted, openEvent, sealEvent } from "../events/sealed-events.ts";
import { StoreError } from "../events/store-error.ts";
import { runIdOf } from "../events/stream-names.ts";

/** What a key is wanted for: the first events of a run, further events of it, or to read what there is. */
export type KeyUse = "create" | "write" | "read";

/** A key of 32 bytes; `"plain"` for a run that is not to be encrypted; `undefined` where there is none, or none any more. */
export type PayloadKey = Uint8Array | "plain" | undefined;

/** Where the keys of runs come from: a file, a table, a key management service. */
export interface PayloadKeys {
  /**
   * The key of a run, or of a thread. For `"create"` a key may have to be made. A rejection means that the keys cannot be reached now:
   * what was asked of the store is `Unavailable`, and can be tried again.
   */
  keyFor(runId: string, use: KeyUse): PayloadKey | Promise<PayloadKey>;
}

/** How payloads are stored. Without it they are plain JSON. */
export interface PayloadOptions {
  /** Compress payloads of 1,024 bytes or more, where it is worth it. Default `false`. */
  readonly compress?: boolean;
  /** Encrypt payloads with the key of their run. Default: they are not encrypted. */
  readonly keys?: PayloadKeys;
}

/** How long a delivery waits, in milliseconds, whose keys could not be reached. */
const RETRY_MS = 1_000;

/** `log`, with payloads stored as `options` say. It may be wrapped around any log at any time; closing it closes `log`. */
export const sealedLog = (log: EventLog, { compress = false, keys }: PayloadOptions): EventLog => {
  const keyOf = async (runId: string, use: KeyUse): Promise<PayloadKey> => {
    let key: PayloadKey;
    try {
      key = await keys?.keyFor(runId, use);
    } catch (cause) {
      throw unavailable(`the keys could not be asked for that of run ${JSON.stringify(runId)}`, cause);
    }
    if (key === undefined || key === "plain") return key;
    if (key instanceof Uint8Array && key.byteLength === KEY_BYTES) return key;
    throw unavailable(
      `the key of run ${JSON.stringify(runId)} is none: AES-256 takes a Uint8Array of ${KEY_BYTES} bytes`,
    );
  };

  const askedFor = async (stream: string): Promise<{ readonly key: Uint8Array | undefined } | undefined> => {
    const runId = runIdOf(stream);
    if (keys === undefined || runId === undefined) return undefined;
    const key = await keyOf(runId, "read");
    return { key: key === "plain" ? undefined : key };
  };

  async function* openedAll(events: AsyncIterable<RecordedEvent>) {
    let stream: string | undefined;
    let asked: Awaited<ReturnType<typeof askedFor>>;
    for await (const event of events) {
      if (isEncrypted(event) && event.stream !== stream) {
        stream = event.stream;
        asked = await askedFor(stream);
      }
      yield openEvent(event, asked);
    }
  }

  const openedItem = (event: RecordedEvent): Observable<RecordedEvent> =>
    isEncrypted(event)
      ? from(askedFor(event.stream)).pipe(map((asked) => openEvent(event, asked)))
      : of(openEvent(event));

  const sealAll = (
    stream: string,
    events: readonly EventData[],
    key: Uint8Array | undefined,
  ): readonly EventData[] => events.map((event) => sealEvent(stream, event, { key, compress }));

  return {
    append(stream, expected, events) {
      const runId = runIdOf(stream);
      if (runId === undefined || !events.some(hasPrivateFields)) return log.append(stream, expected, events);
      if (keys === undefined) return log.append(stream, expected, sealAll(stream, events, undefined));
      return async () => {
        try {
          const key = await keyOf(runId, expected === "none" ? "create" : "write");
          if (key === undefined)
            throw unavailable(
              `there is no key for run ${JSON.stringify(runId)}`,
              new RejectionError("PayloadsErased", runId),
            );
          return log.append(stream, expected, sealAll(stream, events, key === "plain" ? undefined : key))();
        } catch (error) {
          if (StoreError.is(error)) return left(error.error);
          throw error;
        }
      };
    },
    read: (stream, options) => openedAll(log.read(stream, options)),
    readAll: (options) => openedAll(log.readAll(options)),
    subscribe: (options) =>
      log.subscribe(options).pipe(concatMap((item) => ("type" in item ? openedItem(item) : of(item)))),
    consume: (group, options) =>
      log.consume(group, options).pipe(
        concatMap((delivery) =>
          openedItem(delivery.event).pipe(
            map((event) => (event === delivery.event ? delivery : withEvent(delivery, event))),
            catchError((error: unknown) => {
              delivery.nack("retry", error instanceof Error ? error.message : String(error), RETRY_MS);
              return EMPTY;
            }),
          ),
        ),
      ),
    head: () => log.head(),
    close: () => log.close(),
  };
};

const withEvent = (delivery: Consumed, event: RecordedEvent): Consumed => ({
  event,
  redeliveries: delivery.redeliveries,
  ack: () => delivery.ack(),
  nack: (...answer) => delivery.nack(...answer),
});

const unavailable = (reason: string, cause?: unknown): StoreError =>
  new StoreError(`Payloads cannot be sealed or opened: ${reason}.`, {
    _tag: "Unavailable",
    reason,
    ...(cause !== undefined && { cause }),
  });
