/**
 * What is read in place of fields that are sealed and were not opened: an event stays readable around them, and a field that should have
 * opened and did not is an error that blocks its run alone.
 */
import { type Either, left, right } from "fp-ts/lib/Either.js";
import { EventDecodeError } from "./event-decode-error.ts";
import type { RecordedEvent } from "./event-log.ts";
import { type EventSchema, holdsPayload } from "./event-schema.ts";
import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import { knownNote, openEvent } from "./sealed-events.ts";
import type { SealedState } from "./sealed-value.ts";

/** An event that can be checked, and the fields of it that only stand for what is sealed. */
export interface Opened {
  readonly event: RecordedEvent;
  readonly sealed: ReadonlyMap<string, SealedState>;
}

/** Opens what needs no key. Fields that stay sealed hold null, or what a failure is read as. */
export const openedAsFar = (
  recorded: RecordedEvent,
  schema: EventSchema,
): Either<EventDecodeError, Opened> => {
  const malformed = (path: string) => left(new EventDecodeError("Malformed", recorded, { paths: [path] }));
  const notes = recorded.metadata.sealed;
  if (!isJsonObject(notes)) return malformed("metadata.sealed");
  const event = openEvent(recorded);
  const data: Record<string, Json> = { ...event.data };
  const sealed = new Map<string, SealedState>();
  for (const [field, note] of Object.entries((event.metadata.sealed ?? {}) as JsonObject)) {
    const paths = [`data.${field}`];
    const known = knownNote(note);
    if (known === undefined) return left(new EventDecodeError("UnknownSeal", recorded, { paths }));
    if (known.unopened === "other key") return left(new EventDecodeError("Unopened", recorded, { paths }));
    const standIn = standInOf(schema, field);
    if (standIn === undefined || !Object.hasOwn(data, field)) return malformed(`metadata.sealed.${field}`);
    data[field] = standIn;
    sealed.set(field, known.unopened === "no key" ? "erased" : "locked");
  }
  return right({ event: { ...event, data }, sealed });
};

const standInOf = (schema: EventSchema, field: string): Json | undefined => {
  if (holdsPayload(schema, field)) return null;
  const { failures = {} } = schema;
  return Object.hasOwn(failures, field) ? failures[field] : undefined;
};
