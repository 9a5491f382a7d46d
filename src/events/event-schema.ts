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
  readonly stored: t.Type<JsonObject, unknown, unknown>;
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

/** Describes an event's stored data: fields that must be there, fields that may; others are dropped on reading. */
export const storedData = (required: Fields, optional?: Fields): EventSchema["stored"] => {
  const must = t.type(required);
  const described =
    optional === undefined ? t.exact(must) : t.exact(t.intersection([must, t.partial(optional)]));
  return described as unknown as EventSchema["stored"];
};
