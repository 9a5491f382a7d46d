/**
 * What the codec needs to know of one event type, and the pieces that stored data is described with.
 *
 * Stored data is checked on reading only: what is written was made by our own decisions.
 */
import * as t from "io-ts";
import { isJsonObject, type Json, type JsonObject } from "./json.ts";

/** One event type: the schema version written today, and what its data looks like in a stream. */
export interface EventSchema {
  readonly version: number;
  readonly stored: { decode(data: unknown): t.Validation<JsonObject> };
  /** The field that holds a payload, or the fields: stored as plain JSON, their type notes in the metadata. */
  readonly payload?: string | readonly string[];
  /** Fields that quote what went wrong, which are sealed as payloads are; and what is read in their place where they cannot be opened. */
  readonly failures?: Readonly<Record<string, Json>>;
  /** The one field that is a limit: `Infinity` says that there is none, and is stored as null. */
  readonly limit?: string;
}

/** The fields that hold payloads. */
export const payloadsOf = ({ payload = [] }: EventSchema): readonly string[] =>
  typeof payload === "string" ? [payload] : payload;

export const holdsPayload = ({ payload }: EventSchema, field: string): boolean =>
  typeof payload === "string" ? field === payload : (payload?.includes(field) ?? false);

const codec = <A>(name: string, is: (value: unknown) => value is A): t.Type<A, unknown, unknown> =>
  new t.Type(
    name,
    is,
    (value, context) => (is(value) ? t.success(value) : t.failure(value, context)),
    t.identity,
  );

/** A finite number: an instant or a duration in milliseconds, or a count. */
export const Finite = codec("Finite", (value): value is number => Number.isFinite(value));

/** An object of any JSON. */
export const JsonRecord = codec("JsonRecord", isJsonObject);

/** A finite number, or null for `Infinity`. */
export const Limit: t.Type<number, unknown, unknown> = new t.Type(
  "Limit",
  (value): value is number => typeof value === "number",
  (value, context) =>
    value === null ? t.success(Number.POSITIVE_INFINITY) : Finite.validate(value, context),
  t.identity,
);

/** What a failure is read as where it is sealed and cannot be opened. */
export const SEALED_FAILURE = { message: "(sealed)" } as const;

/** What an error is to those who read about it later. */
export const Failure = t.exact(t.type({ message: t.string }));

type Fields = { readonly [field: string]: t.Mixed };

/** Is the value what the field would be read as? */
const isAsRead = (field: t.Mixed, value: unknown): boolean => {
  if (field === t.string) return typeof value === "string";
  if (field === Finite) return Number.isFinite(value);
  if (field === t.unknown) return true;
  if (field instanceof t.KeyofType) return field.is(value);
  const read = field.decode(value);
  return read._tag === "Right" && read.right === value;
};

/**
 * Describes an event's stored data: fields that must be there, fields that may; others are dropped on reading.
 *
 * Data that is as it was written is checked in one pass over its fields. All else is io-ts's to read, or to refuse and say where: its
 * description is made at the first need, since nearly every process goes without.
 */
export const storedData = (required: Fields, optional: Fields = {}): EventSchema["stored"] => {
  const needed = new Map(Object.entries(required));
  const allowed = new Map(Object.entries(optional));

  const isAsWritten = (data: unknown): data is JsonObject => {
    if (!isJsonObject(data)) return false;
    let missing = needed.size;
    for (const name in data) {
      const must = needed.get(name);
      if (must !== undefined) missing -= 1;
      const field = must ?? allowed.get(name);
      if (field === undefined || !isAsRead(field, data[name])) return false;
    }
    return missing === 0;
  };

  let described: t.Type<JsonObject, unknown, unknown> | undefined;
  return {
    decode(data) {
      if (isAsWritten(data)) return t.success(data);
      described ??= descriptionOf(required, optional);
      return described.decode(data);
    },
  };
};

const descriptionOf = (required: Fields, optional: Fields): t.Type<JsonObject, unknown, unknown> => {
  const all = t.intersection([t.type(required), t.partial(optional)]);
  return t.exact(all) as unknown as t.Type<JsonObject, unknown, unknown>;
};
