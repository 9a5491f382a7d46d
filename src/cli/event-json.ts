/**
 * Events as JSON lines for programs: a payload is the plain JSON that is stored, and what JSON alone does not say about it stands beside
 * it in `types`.
 */
import { payloadFields } from "../events/catalogue.ts";
import type { HistoryEntry } from "../projections/history.ts";

export interface EventJson {
  readonly runId: string;
  readonly revision: number;
  readonly position: string;
  readonly id: string;
  /** Epoch milliseconds. */
  readonly recordedAt: number;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** By the name of the payload's field. */
  readonly types?: Readonly<Record<string, unknown>>;
}

export const eventJson = (runId: string, entry: HistoryEntry): EventJson => {
  const { revision, position, id, recordedAt, event } = entry;
  const data: Record<string, unknown> = { ...event.data };
  const types: Record<string, unknown> = {};
  for (const field of payloadFields(event.type)) {
    const payload = data[field] as { json: unknown; types?: unknown } | undefined;
    if (payload === undefined) continue;
    data[field] = payload.json;
    if (payload.types !== undefined) types[field] = payload.types;
  }
  const noted = Object.keys(types).length > 0;
  return { runId, revision, position, id, recordedAt, type: event.type, data, ...(noted && { types }) };
};
