/** Payloads that Runstream's executor writes are read by the Workflow SDK, and the other way round, value by value. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import {
  dehydrate,
  type EncryptionKey,
  FatalError,
  hydrate,
  importEncryptionKey,
  RetryableError,
} from "../../src/executor/index.ts";

interface Serialization {
  dehydrateStepReturnValue(
    value: unknown,
    runId: string,
    key: EncryptionKey | undefined,
    ops: Promise<unknown>[],
    global: object,
    v1Compat: boolean,
    framedByteStreams: boolean,
    compression: boolean,
  ): Promise<Uint8Array>;
  hydrateStepReturnValue(bytes: unknown, runId: string, key: EncryptionKey | undefined): Promise<unknown>;
}

const sdk = (await import(
  pathToFileURL(join(import.meta.dirname, "node_modules/@workflow/core/dist/serialization.js")).href
)) as Serialization;

const cyclic = (): object => {
  const value: { self?: object } = {};
  value.self = value;
  return value;
};

const VALUES: readonly [string, unknown][] = [
  ["nothing", undefined],
  ["null", null],
  ["numbers", [Number.NaN, -0, Infinity, -Infinity, 1.5]],
  ["bigints", [1n, -5n]],
  ["dates", [new Date(5), new Date(Number.NaN)]],
  ["maps and sets", new Map([[1, { members: new Set([1, "x"]) }]])],
  ["a regular expression", /a\/b/gi],
  ["a URL", new URL("http://a/b?c=1")],
  ["search parameters", [new URLSearchParams("a=1&b=2"), new URLSearchParams("")]],
  ["bytes", [new Uint8Array([1, 2, 3]), new Uint8Array(0), new Uint8Array([4]).buffer, new ArrayBuffer(0)]],
  ["numbers in arrays", [new Int16Array([1, -2]), new Float64Array([1.5]), new BigInt64Array([3n])]],
  ["a NUL", "a\0b"],
  ["text beyond the first plane", "😀é"],
  ["a hole", [1, undefined, 3].filter((_, index) => index !== 1)],
  ["an object without a prototype", Object.assign(Object.create(null), { a: 1 })],
  ["a cycle", cyclic()],
  ["a long text", "y".repeat(5_000)],
  ["an error with a cause", new Error("m", { cause: new TypeError("c") })],
  ["several errors", new AggregateError([new Error("x")], "m")],
  ["an abort", new DOMException("m", "AbortError")],
  ["a named error", Object.assign(new Error("n"), { name: "Custom" })],
  ["a fatal error", new FatalError("f")],
  ["a retryable error", new RetryableError("r", { retryAfter: new Date(1_000) })],
];

/** Errors by what they say; classes of errors are each package's own. */
const comparable = (value: unknown): unknown => {
  if (!(value instanceof Error)) return value;
  const { name, message, stack, cause } = value;
  const { errors, retryAfter } = value as { errors?: unknown[]; retryAfter?: unknown };
  return { name, message, stack, cause: comparable(cause), errors: errors?.map(comparable), retryAfter };
};

describe.each([
  ["in plain", false, false],
  ["compressed", true, false],
  ["encrypted", false, true],
  ["compressed and encrypted", true, true],
])("a payload %s", (_, compression, encrypted) => {
  const keyOf = async () => (encrypted ? importEncryptionKey(new Uint8Array(32).fill(9)) : undefined);

  it.each(VALUES)("of %s written by the SDK is read by Runstream", async (__, value) => {
    const key = await keyOf();
    const bytes = await sdk.dehydrateStepReturnValue(
      value,
      "r",
      key,
      [],
      globalThis,
      false,
      true,
      compression,
    );
    expect(comparable(await hydrate(bytes, { key }))).toStrictEqual(comparable(value));
  });

  it.each(VALUES)("of %s written by Runstream is read by the SDK", async (__, value) => {
    const key = await keyOf();
    const bytes = await dehydrate(value, { key, compression });
    expect(comparable(await sdk.hydrateStepReturnValue(bytes, "r", key))).toStrictEqual(comparable(value));
  });

  if (encrypted || compression) return;
  it.each(VALUES)("of %s has the same bytes, whoever writes it", async (__, value) => {
    const theirs = await sdk.dehydrateStepReturnValue(
      value,
      "r",
      undefined,
      [],
      globalThis,
      false,
      true,
      compression,
    );
    expect(Buffer.compare(await dehydrate(value, { compression }), theirs)).toBe(0);
  });
});
