/**
 * Values beyond JSON: superjson's split into plain JSON and type notes, with our own rules where superjson alters or refuses.
 *
 * It expects a snapshot made by the validating copy, and answers values that share nothing with the stored JSON.
 */
import { SuperJSON } from "superjson";
import { type ErrorFields, ErrorSnapshot, restoreError } from "./payload-error-values.ts";
import { ESCAPED_KEY } from "./payload-walk.ts";

const superjson = new SuperJSON();

/** Bytes as base64: an array of numbers would take four times the room. */
superjson.registerCustom<Uint8Array, string>(
  {
    isApplicable: (value): value is Uint8Array => value instanceof Uint8Array,
    serialize: (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"),
    deserialize: (text) => {
      const decoded = Buffer.from(text, "base64");
      const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
      if (text.length % 4 !== 0 || decoded.length !== (text.length / 4) * 3 - padding)
        throw new TypeError("not base64");
      return new Uint8Array(decoded);
    },
  },
  "Uint8Array",
);

superjson.registerCustom<Date, null>(
  {
    isApplicable: (value): value is Date => value instanceof Date && Number.isNaN(value.getTime()),
    serialize: () => null,
    deserialize: () => new Date(Number.NaN),
  },
  "InvalidDate",
);

superjson.registerCustom<ErrorSnapshot, never>(
  {
    isApplicable: (value): value is ErrorSnapshot => value instanceof ErrorSnapshot,
    serialize: (error) => error.fields as never,
    deserialize: (fields) => restoreError(fields as ErrorFields) as ErrorSnapshot,
  },
  "Error",
);

/** Keys that superjson refuses, those that must not be written as keys, and those with a dot, which its paths would escape. */
const isAwkward = (key: string): boolean =>
  key === "__proto__" ||
  key === "constructor" ||
  key === "prototype" ||
  key.includes(".") ||
  ESCAPED_KEY.test(key);

const hasAwkwardKey = (value: object): boolean => Object.keys(value).some(isAwkward);

const prototypeOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null ? Object.getPrototypeOf(value) : undefined;

/** Awkward keys are carried as the text of entries. */
superjson.registerCustom<object, never>(
  {
    isApplicable: (value): value is object =>
      prototypeOf(value) === Object.prototype && hasAwkwardKey(value as object),
    serialize: (record) => Object.entries(record) as never,
    deserialize: (entries) => Object.fromEntries(entries as [string, unknown][]),
  },
  "entries",
);

superjson.registerCustom<object, never>(
  {
    isApplicable: (value): value is object => prototypeOf(value) === null,
    serialize: (record) => (hasAwkwardKey(record) ? Object.entries(record) : { ...record }) as never,
    deserialize: (stored: object) => {
      const entries = (Array.isArray(stored) ? stored : Object.entries(stored)) as [string, unknown][];
      return Object.setPrototypeOf(Object.fromEntries(entries), null) as object;
    },
  },
  "null-prototype",
);

/** The notes on equal references are left out: superjson takes equal BigInts for one, and a payload is a tree (W1). */
export const splitTypes = (snapshot: unknown): { json: unknown; types: unknown } => {
  const { json, meta } = superjson.serialize(snapshot);
  return { json, types: { values: meta?.values, v: 1 } };
};

/** `json` must be a fresh copy: it is rebuilt in place. Throws whatever superjson throws for notes that do not fit. */
export const joinTypes = (json: unknown, types: unknown): unknown =>
  superjson.deserialize({ json, meta: types } as Parameters<typeof superjson.deserialize>[0], {
    inPlace: true,
  });
