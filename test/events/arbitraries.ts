/** Arbitrary payload values and events for the properties of `src/events`. */
import fc from "fast-check";
import type { RunEvent, TokenReserved } from "../../src/events/catalogue.ts";
import type { Json, JsonObject } from "../../src/events/json.ts";
import { encodePayload, type Payload } from "../../src/events/payload.ts";

/** Any text, lone surrogates and NUL included. */
export const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc
    .array(fc.constantFrom(0, 0x25, 0x2e, 0x2f, 0x41, 0x5c, 0x7f, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe9), {
      maxLength: 8,
    })
    .map((units) => String.fromCharCode(...units)),
);

export const anyKey = fc.oneof(
  anyText,
  fc.constantFrom(
    "__proto__",
    "constructor",
    "prototype",
    "__type",
    "json",
    "meta",
    "values",
    "v",
    "toJSON",
    "length",
    "0",
    "a.b",
    "a\\.b",
    "\\",
    ".",
    "",
  ),
);

const leaf = fc.oneof(
  fc.constantFrom(
    null,
    true,
    false,
    undefined,
    0,
    -0,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ),
  fc.double(),
  fc.integer(),
  anyText,
  fc.bigInt(),
  fc.date({ noInvalidDate: false }),
  fc.uint8Array({ maxLength: 20 }),
  fc.webUrl().map((url) => new URL(url)),
  fc.constantFrom(/a\/b/g, /[/]./su, /(?<x>\d)/).map((regexp) => new RegExp(regexp)),
);

/** An object with these own properties, `__proto__` included. */
const record = (inner: fc.Arbitrary<unknown>, bare: boolean): fc.Arbitrary<object> =>
  fc.array(fc.tuple(anyKey, inner), { maxLength: 5 }).map((entries) => {
    const made = Object.fromEntries(entries);
    return bare ? Object.setPrototypeOf(made, null) : made;
  });

const error = (inner: fc.Arbitrary<unknown>): fc.Arbitrary<Error> =>
  fc
    .tuple(
      fc.constantFrom(Error, TypeError, RangeError),
      anyText,
      fc.option(inner, { nil: undefined }),
      fc.dictionary(fc.constantFrom("code", "constructor", "a.b"), inner, { maxKeys: 2 }),
    )
    .map(([make, message, cause, properties]) =>
      Object.assign(cause === undefined ? new make(message) : new make(message, { cause }), properties),
    );

/** Any value a payload can carry. */
export const anyValue: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("value"), { maxLength: 5 }),
    record(tie("value"), false),
    record(tie("value"), true),
    fc.array(fc.tuple(tie("value"), tie("value")), { maxLength: 4 }).map((entries) => new Map(entries)),
    fc.array(tie("value"), { maxLength: 4 }).map((values) => new Set(values)),
    error(tie("value")),
  ),
})).value;

const anyPayload: fc.Arbitrary<Payload> = anyValue
  .filter((value) => value !== undefined)
  .map((value) => encodePayload(value) as Payload);

const instant = fc.oneof(fc.integer({ min: 0 }), fc.constantFrom(0, 1_700_000_000_000.5, 8.64e15));
const failure = anyText.map((message) => ({ message }));
/** JSON without keys that JSON writes with an escape, and without -0. */
const plain = (value: unknown): Json => {
  if (Object.is(value, -0)) return 0;
  if (typeof value !== "object" || value === null) return value as Json;
  if (Array.isArray(value)) return value.map(plain);
  const entries = Object.entries(value).map(([name, inner]) => [
    name.replace(/["\\\p{Cc}\p{Surrogate}]/gu, "_"),
    plain(inner),
  ]);
  return Object.fromEntries(entries) as JsonObject;
};

export const plainJson: fc.Arbitrary<Json> = fc.jsonValue({ maxDepth: 4 }).map(plain);

const anyRecord = fc.dictionary(fc.stringMatching(/^[\w.:/-]*$/), plainJson, {
  maxKeys: 3,
  noNullPrototype: true,
}) as fc.Arbitrary<JsonObject>;
const key = anyText;

type DataOf<T extends (RunEvent | TokenReserved)["type"]> = Extract<
  RunEvent | TokenReserved,
  { type: T }
>["data"];

const data = <A extends object>(
  required: { [K in keyof A]: fc.Arbitrary<A[K]> },
  requiredKeys: (keyof A)[],
): fc.Arbitrary<A> =>
  fc.record(required, {
    requiredKeys: requiredKeys as never,
    noNullPrototype: true,
  } as never) as unknown as fc.Arbitrary<A>;

const DATA: { [T in (RunEvent | TokenReserved)["type"]]: fc.Arbitrary<DataOf<T>> } = {
  RunCreated: data<Required<DataOf<"RunCreated">>>(
    {
      workflow: anyText,
      input: anyPayload,
      createdAt: instant,
      codeVersion: anyText,
      key,
      tenant: anyText,
      metadata: anyRecord,
    },
    ["workflow", "createdAt"],
  ),
  RunStarted: data({ at: instant }, ["at"]),
  RunCompleted: data<Required<DataOf<"RunCompleted">>>({ output: anyPayload, at: instant }, ["at"]),
  RunFailed: data({ error: failure, at: instant }, ["error", "at"]),
  RunCancelled: data<Required<DataOf<"RunCancelled">>>({ reason: anyText, at: instant }, ["at"]),
  AttemptClaimed: data({ key, holder: anyText, at: instant }, ["key", "holder", "at"]),
  AttemptReleased: data({ key, holder: anyText, at: instant }, ["key", "holder", "at"]),
  StepRetried: data(
    {
      key,
      attempt: fc.nat(),
      maxAttempts: fc.oneof(fc.nat(), fc.constant(Number.POSITIVE_INFINITY)),
      error: failure,
      delayMs: instant,
      at: instant,
    },
    ["key", "attempt", "maxAttempts", "error", "delayMs", "at"],
  ),
  StepSettled: data<Required<DataOf<"StepSettled">>>(
    {
      key,
      name: anyText,
      status: fc.constantFrom("ok", "failed"),
      output: anyPayload,
      error: failure,
      attempts: fc.nat(),
      startedAt: instant,
      finishedAt: instant,
    },
    ["key", "name", "status", "attempts", "finishedAt"],
  ),
  SleepScheduled: data<Required<DataOf<"SleepScheduled">>>(
    {
      key,
      wakeAt: instant,
      kind: fc.constantFrom("sleep", "hookTimeout"),
      correlationId: anyText,
      at: instant,
    },
    ["key", "wakeAt", "kind", "at"],
  ),
  SleepElapsed: data({ key, at: instant }, ["key", "at"]),
  SleepWoken: data({ key, at: instant }, ["key", "at"]),
  HookOpened: data({ key, token: anyText, at: instant }, ["key", "token", "at"]),
  HookDelivered: data<Required<DataOf<"HookDelivered">>>({ key, payload: anyPayload, at: instant }, [
    "key",
    "at",
  ]),
  HookClosed: data({ key, at: instant }, ["key", "at"]),
  TokenReserved: data({ runId: anyText, key, at: instant }, ["runId", "key", "at"]),
};

/** Any event of the catalogue. */
export const anyEvent: fc.Arbitrary<RunEvent | TokenReserved> = fc.oneof(
  ...Object.entries(DATA).map(([type, arbitrary]) =>
    (arbitrary as fc.Arbitrary<object>).map((made) => ({ type, data: made }) as RunEvent | TokenReserved),
  ),
);
