/** Payloads, over all values: what goes in comes out, whatever was done to it on the way. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dehydrate, hydrate, importEncryptionKey } from "../../src/executor/index.ts";

const typedArrays = fc.oneof(
  fc.uint8Array(),
  fc.int8Array(),
  fc.uint8ClampedArray(),
  fc.int16Array(),
  fc.uint16Array(),
  fc.int32Array(),
  fc.uint32Array(),
  fc.float32Array(),
  fc.float64Array(),
  fc.bigInt64Array(),
  fc.bigUint64Array(),
);

/** Any text, halves of surrogate pairs included. */
const text = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
});

const key = fc.oneof(fc.string(), text).filter((name) => name !== "__proto__");

const leaf = fc.oneof(
  fc.constantFrom(undefined, null, true, false, Number.NaN, -0, Infinity, -Infinity),
  fc.double(),
  fc.bigInt(),
  text,
  fc.date({ noInvalidDate: false }),
  typedArrays,
  fc.uint8Array().map((bytes) => bytes.slice().buffer),
  fc.webUrl().map((url) => new URL(url)),
  fc.array(fc.tuple(fc.string(), fc.string())).map((pairs) => new URLSearchParams(pairs)),
  fc.constantFrom(/a\/b/gi, /^$/u),
);

const value: fc.Arbitrary<unknown> = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.array(tie("any"), { maxLength: 5 }),
    fc.dictionary(key, tie("any"), { maxKeys: 5 }),
    fc.array(fc.tuple(tie("any"), tie("any")), { maxLength: 4 }).map((entries) => new Map(entries)),
    fc.array(tie("any"), { maxLength: 4 }).map((members) => new Set(members)),
  ),
})).any;

const encryptionKey = importEncryptionKey(new Uint8Array(32).fill(7));

describe("a payload", () => {
  it.each([
    ["as it is", {}],
    ["compressed", { compression: true }],
    ["encrypted", { encrypted: true }],
    ["compressed and encrypted", { compression: true, encrypted: true }],
  ])(
    "%s holds the value that was put into it",
    async (_, { compression = false, encrypted = false }: { compression?: boolean; encrypted?: boolean }) => {
      const secret = encrypted ? await encryptionKey : undefined;
      await fc.assert(
        fc.asyncProperty(value, async (original) => {
          const bytes = await dehydrate(original, { key: secret, compression });
          expect(await hydrate(bytes, { key: secret })).toStrictEqual(original);
        }),
        { numRuns: 150 },
      );
    },
  );

  it("keeps identities: what was one object is one object", async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(key, value, { minKeys: 1, maxKeys: 3 }), async (shared) => {
        const back = (await hydrate(await dehydrate({ a: shared, b: [shared] }))) as {
          a: unknown;
          b: unknown[];
        };
        expect(back.b[0]).toBe(back.a);
      }),
      { numRuns: 50 },
    );
  });

  it("that was changed in one bit after it was encrypted is refused", async () => {
    const secret = await encryptionKey;
    const bytes = await dehydrate("a secret", { key: secret });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 4, max: bytes.byteLength - 1 }),
        fc.integer({ min: 0, max: 7 }),
        async (at, bit) => {
          const changed = bytes.slice();
          changed[at]! ^= 1 << bit;
          await expect(hydrate(changed, { key: secret })).rejects.toMatchObject({
            name: "RuntimeDecryptionError",
          });
        },
      ),
      { numRuns: 100 },
    );
  });
});
