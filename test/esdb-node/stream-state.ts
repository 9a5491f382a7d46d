/**
 * One stream as the node holds it, and what its metadata hides from readers.
 *
 * - V1 `records[i].revision === i`, but for a tombstone, which is the last one and has no number.
 * - V2 What is decided looks at all records, what is read only at the first `visible` of them: those the log has acknowledged.
 */
import type { LogRecord } from "./record.ts";

export interface StreamState {
  readonly name: string;
  readonly records: LogRecord[];
  visible: number;
  tombstoned: boolean;
}

/** The part of a stream's metadata that the node itself obeys. `maxAge` is in seconds. */
export interface StreamMetadata {
  readonly maxAge?: number;
  readonly maxCount?: number;
  readonly truncateBefore?: number;
}

export const METADATA_PREFIX = "$$";
export const METADATA_TYPE = "$metadata";

/** `$tb` of a soft-deleted stream. JavaScript rounds it up, so it is compared with `>=`. */
export const SOFT_DELETED_TEXT = "9223372036854775807";
const SOFT_DELETED = Number(SOFT_DELETED_TEXT);

export const emptyStream = (name: string): StreamState => ({
  name,
  records: [],
  visible: 0,
  tombstoned: false,
});

const parsed = new WeakMap<LogRecord, StreamMetadata>();

/** The metadata in `record`; nothing where it is not JSON, which a server does not obey either. */
export const metadataIn = (record: LogRecord | undefined): StreamMetadata => {
  if (record === undefined) return {};
  const known = parsed.get(record);
  if (known !== undefined) return known;
  const metadata = parseMetadata(record.data);
  parsed.set(record, metadata);
  return metadata;
};

const parseMetadata = (data: Uint8Array): StreamMetadata => {
  let json: Record<string, unknown>;
  try {
    json = JSON.parse(Buffer.from(data).toString("utf8")) as Record<string, unknown>;
  } catch {
    return {};
  }
  const { $maxAge: maxAge, $maxCount: maxCount, $tb: truncateBefore } = json;
  return {
    ...(typeof maxAge === "number" ? { maxAge } : {}),
    ...(typeof maxCount === "number" ? { maxCount } : {}),
    ...(typeof truncateBefore === "number" ? { truncateBefore } : {}),
  };
};

export const isSoftDeleted = (metadata: StreamMetadata): boolean =>
  (metadata.truncateBefore ?? 0) >= SOFT_DELETED;

/** The first revision that a reader sees, at `now` in epoch milliseconds. Greater than the last one when there is nothing to see. */
export const firstVisible = (state: StreamState, metadata: StreamMetadata, now: number): number => {
  let first = metadata.truncateBefore ?? 0;
  if (metadata.maxCount !== undefined) first = Math.max(first, state.visible - metadata.maxCount);
  if (metadata.maxAge !== undefined) {
    const oldest = now - metadata.maxAge * 1000;
    first = Math.max(first, firstNotBefore(state, oldest));
  }
  return first;
};

/** Times in a stream never go back, so the place can be found by halving. */
const firstNotBefore = ({ records, visible }: StreamState, at: number): number => {
  let low = 0;
  let high = visible;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (records[middle]!.at < at) low = middle + 1;
    else high = middle;
  }
  return low;
};
