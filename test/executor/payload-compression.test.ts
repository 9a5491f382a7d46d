/** Which payloads are compressed, with what, and who can read them. */
import { randomBytes } from "node:crypto";
import * as zlib from "node:zlib";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  COMPRESSION_MIN_BYTES,
  compress,
  compressionWith,
  decompress,
} from "../../src/executor/compression.ts";
import { dehydrate, executeStep, hydrate } from "../../src/executor/index.ts";
import { wrap } from "../../src/executor/payload-format.ts";
import { counted, paramsFor, watchRejections, worldWithStep } from "./scene.ts";

watchRejections();
afterEach(() => {
  vi.unstubAllEnvs();
});

const prefixOf = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(0, 4)).toString();

/** A text whose payload has this many bytes: the prefix, a bracket and a quote on both sides. */
const textOfPayload = (bytes: number): string => "x".repeat(bytes - 8);

describe("compression", () => {
  it.each([
    [COMPRESSION_MIN_BYTES - 1, "devl"],
    [COMPRESSION_MIN_BYTES, "zstd"],
    [COMPRESSION_MIN_BYTES + 1, "zstd"],
  ])("of a payload of %i bytes: %s", async (size, prefix) => {
    const text = textOfPayload(size);
    expect((await dehydrate(text)).byteLength).toBe(size);
    const bytes = await dehydrate(text, { compression: true });
    expect(prefixOf(bytes)).toBe(prefix);
    expect(await hydrate(bytes)).toBe(text);
  });

  it("is dropped when it saves less than a twentieth, prefixes included", async () => {
    const seen = new Set<string>();
    for (let zeros = 0; zeros <= 200; zeros += 4) {
      const payload = wrap("devl", Buffer.concat([randomBytes(2000), Buffer.alloc(zeros)]));
      const always =
        4 +
        zlib.zstdCompressSync(payload, { params: { [zlib.constants.ZSTD_c_compressionLevel]: 3 } })
          .byteLength;
      const kept = await compress(payload, true);
      expect(prefixOf(kept)).toBe(always < payload.byteLength * 0.95 ? "zstd" : "devl");
      seen.add(prefixOf(kept));
    }
    expect([...seen]).toEqual(["devl", "zstd"]);
  });

  it.each([
    ["nothing set", {}, "zstd"],
    ["WORKFLOW_COMPRESSION_CODEC=gzip", { WORKFLOW_COMPRESSION_CODEC: "gzip" }, "gzip"],
    ["WORKFLOW_COMPRESSION_CODEC=other", { WORKFLOW_COMPRESSION_CODEC: "other" }, "zstd"],
    ["WORKFLOW_DISABLE_COMPRESSION=1", { WORKFLOW_DISABLE_COMPRESSION: "1" }, "devl"],
    ["WORKFLOW_DISABLE_COMPRESSION=0", { WORKFLOW_DISABLE_COMPRESSION: "0" }, "zstd"],
  ])("with %s writes %s, and what is written can be read under any setting", async (_, variables, prefix) => {
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    const text = textOfPayload(5000);
    const bytes = await dehydrate(text, { compression: true });
    expect(prefixOf(bytes)).toBe(prefix);
    vi.unstubAllEnvs();
    vi.stubEnv("WORKFLOW_DISABLE_COMPRESSION", "1");
    expect(await hydrate(bytes)).toBe(text);
  });

  describe("where zlib has no zstd", () => {
    const { zstdCompress: _, zstdDecompress: __, ...old } = zlib;
    const poor = compressionWith(old);
    const payload = wrap("devl", Buffer.from(textOfPayload(5000)));

    it.each([undefined, "zstd", "gzip"])("writes gzip, with WORKFLOW_COMPRESSION_CODEC=%s", async (codec) => {
      if (codec !== undefined) vi.stubEnv("WORKFLOW_COMPRESSION_CODEC", codec);
      const bytes = await poor.compress(payload, true);
      expect(prefixOf(bytes)).toBe("gzip");
      for (const read of [poor.decompress, decompress])
        expect(Buffer.from(await read(bytes))).toEqual(Buffer.from(payload));
      expect(await poor.compress(payload, false)).toBe(payload);
    });

    it("says what to do about a payload of zstd, and reads what is not compressed", async () => {
      const bytes = await compress(payload, true);
      expect(prefixOf(bytes)).toBe("zstd");
      await expect(poor.decompress(bytes)).rejects.toThrow(
        "zstd, which this runtime does not have: use Node 22.15",
      );
      expect(await poor.decompress(payload)).toBe(payload);
    });
  });

  it.each([
    [undefined, "devl"],
    [1, "devl"],
    [4, "devl"],
    [5, "zstd"],
    [6, "zstd"],
  ])("of results and errors of a run of spec version %s: %s", async (runSpecVersion, prefix) => {
    const text = textOfPayload(5000);
    const params = runSpecVersion === undefined ? {} : { runSpecVersion };
    const world = await worldWithStep();
    counted(() => text);
    await executeStep(paramsFor(world, params));
    const { result } = world.asked("step_completed")[0]!.request.eventData as { result: Uint8Array };
    expect(prefixOf(result)).toBe(prefix);
    expect(await hydrate(result)).toBe(text);

    const failing = await worldWithStep();
    counted(() => {
      throw text;
    });
    await executeStep(paramsFor(failing, params));
    const { error } = failing.asked("step_retrying")[0]!.request.eventData as { error: Uint8Array };
    expect(prefixOf(error)).toBe(prefix);
  });
});
