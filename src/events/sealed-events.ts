/**
 * Events with sealed fields. A field that is sealed holds a text in place of its value, and the event's metadata says under `sealed`, by
 * the field's name, how it was made: `{"output":{"enc":"A256GCM","zip":"zstd"}}`. Type notes of such a field are sealed with it.
 *
 * Not here: how a text is sealed (payload-seal.ts), where keys come from (embedded/sealed-log.ts).
 *
 * Invariants:
 * - F1 Payloads are sealed, and so are the fields that quote what went wrong. Nothing else of an event is: types, keys, names, tokens,
 *   instants and a run's attributes stay as they are.
 * - F2 Opening never throws: what does not open keeps its note, with `unopened` saying why, and the codec refuses that event alone.
 */
import { sealedFields } from "./catalogue.ts";
import type { EventData, RecordedEvent } from "./event-log.ts";
import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import { openSeal, type Seal, seal } from "./payload-seal.ts";

/** Why a field stayed sealed: the keys have none for the run, or the one they have does not open it. */
export type Unopened = "no key" | "other key";

/** How an event's field is sealed, and, once opening it was tried, why it did not open. */
export interface SealNote extends Seal {
  readonly unopened?: Unopened;
}

/** How payloads are to be sealed: compressed where it is worth it, encrypted where there is a key. */
export interface Sealing {
  readonly key: Uint8Array | undefined;
  readonly compress: boolean;
}

const placeOf = (stream: string, { id, type }: EventData, field: string): readonly string[] => [
  stream,
  id,
  type,
  field,
];

/** Has the event a field that would be sealed? */
export const hasPrivateFields = ({ type, data }: EventData): boolean =>
  sealedFields(type).some((field) => data[field] !== undefined);

/** Is a field of the event encrypted? */
export const isEncrypted = ({ metadata }: EventData): boolean =>
  isJsonObject(metadata.sealed) &&
  Object.values(metadata.sealed).some((note) => isJsonObject(note) && note.enc !== undefined);

/** The event as it is to be stored; itself where nothing of it is to be sealed. Throws `RangeError` for a key that is none. */
export const sealEvent = (stream: string, event: EventData, sealing: Sealing): EventData => {
  const notes: Record<string, Json> = {};
  const data: Record<string, Json> = { ...event.data };
  const types: Record<string, Json> = isJsonObject(event.metadata.types) ? { ...event.metadata.types } : {};
  for (const field of sealedFields(event.type)) {
    const json = data[field];
    if (json === undefined) continue;
    const noted = types[field];
    const text = JSON.stringify(noted === undefined ? [json] : [json, noted]);
    const sealed = seal(text, placeOf(stream, event, field), sealing);
    if (sealed === undefined) continue;
    data[field] = sealed.text;
    notes[field] = { ...sealed.seal };
    delete types[field];
  }
  if (Object.keys(notes).length === 0) return event;
  return { ...event, data, metadata: withNotes(event.metadata, types, notes) };
};

const withNotes = (
  metadata: JsonObject,
  types: Readonly<Record<string, Json>>,
  sealed: Readonly<Record<string, Json>>,
): JsonObject => {
  const { types: _types, sealed: _sealed, ...rest } = metadata;
  return {
    ...rest,
    ...(Object.keys(types).length > 0 && { types }),
    ...(Object.keys(sealed).length > 0 && { sealed }),
  };
};

/** How a field is sealed, where that is a way this version knows. */
export const knownNote = (note: Json | undefined): SealNote | undefined => {
  if (!isJsonObject(note)) return undefined;
  const { enc, zip } = note;
  if ((enc !== undefined && enc !== "A256GCM") || (zip !== undefined && zip !== "zstd")) return undefined;
  return enc === undefined && zip === undefined ? undefined : (note as SealNote);
};

/**
 * The event with what opens opened. `asked` is what the keys answered for its run; where nobody asked them, what is encrypted stays as it
 * is, and only what is compressed is opened.
 */
export const openEvent = <E extends RecordedEvent>(
  event: E,
  asked?: { readonly key: Uint8Array | undefined },
): E => {
  if (!isJsonObject(event.metadata.sealed)) return event;
  const data: Record<string, Json> = { ...event.data };
  const types: Record<string, Json> = isJsonObject(event.metadata.types) ? { ...event.metadata.types } : {};
  const left: Record<string, Json> = {};
  for (const [field, note] of Object.entries(event.metadata.sealed)) {
    const known = knownNote(note);
    if (known === undefined || (known.enc !== undefined && asked === undefined)) left[field] = note;
    else if (known.enc !== undefined && asked?.key === undefined)
      left[field] = { ...known, unopened: "no key" };
    else {
      const value = openField(event, field, known, asked?.key);
      if (value === undefined) {
        left[field] = { ...known, unopened: "other key" };
        continue;
      }
      const [json, noted] = value;
      data[field] = json;
      if (noted !== undefined) types[field] = noted;
    }
  }
  return { ...event, data, metadata: withNotes(event.metadata, types, left) };
};

const openField = (
  event: RecordedEvent,
  field: string,
  { unopened: _, ...how }: SealNote,
  key: Uint8Array | undefined,
): readonly [json: Json, types?: Json] | undefined => {
  const text = event.data[field];
  if (typeof text !== "string") return undefined;
  try {
    return JSON.parse(openSeal({ text, seal: how }, placeOf(event.stream, event, field), key));
  } catch {
    return undefined;
  }
};
