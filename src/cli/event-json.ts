/**
 * Events as JSON lines for programs: a payload is the plain JSON that is stored, and what JSON alone does not say about it stands beside
 * it in `types`. A payload that is sealed and cannot be opened is null, and `sealed` says so.
 */
import { payloadFields } from "../events/catalogue.ts";
import type { Payload } from "../events/payload.ts";
import type { SealedState } from "../events/sealed-value.ts";
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
  /** By the name of the payload's field: `erased` where its key is gone, `locked` where no keys were given. */
  readonly sealed?: Readonly<Record<string, SealedState>>;
}

export const eventJson = (runId: string, entry: HistoryEntry): EventJson => {
  const { revision, position, id, recordedAt, event } = entry;
  const data: Record<string, unknown> = { ...event.data };
  const types: Record<string, unknown> = {};
  const sealed: Record<string, SealedState> = {};
  for (const field of payloadFields(event.type)) {
    const payload = data[field] as Payload | undefined;
    if (payload === undefined) continue;
    data[field] = payload.json;
    if (payload.types !== undefined) types[field] = payload.types;
    if (payload.sealed !== undefined) sealed[field] = payload.sealed;
  }
  return {
    runId,
    revision,
    position,
    id,
    recordedAt,
    type: event.type,
    data,
    ...(Object.keys(types).length > 0 && { types }),
    ...(Object.keys(sealed).length > 0 && { sealed }),
  };
};
