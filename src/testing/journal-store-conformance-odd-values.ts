/**
 * Our own cases about values (law L6): what an author hands over comes back equal, types included, wherever it is kept, from
 * nothing to a megabyte; and about instants at the edges of what a deadline can be.
 */
import assert from "node:assert/strict";
import {
  aStep,
  DAY,
  identical,
  type JournalCase,
  type JournalCaseGroup,
  journalCase,
  same,
  theRun,
} from "./journal-store-conformance-scene.ts";

const ownProto = (): object =>
  JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"toString":"text"}');

const values: readonly (readonly [what: string, make: () => unknown])[] = [
  ["a string, a number, a boolean and null", () => ["", "text", 0, -1.5, 1e308, true, false, null]],
  ["the absence of a value", () => undefined],
  ["undefined within objects and lists", () => ({ gone: undefined, list: [undefined, null, 1] })],
  [
    "numbers that JSON cannot write",
    () => [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0],
  ],
  ["a Date, before and after the epoch", () => [new Date(0), new Date(-1), new Date(8_640_000_000_000_000)]],
  [
    "a Map",
    () =>
      new Map<unknown, unknown>([
        ["a", 1],
        [2, new Date(3)],
        [null, new Map()],
      ]),
  ],
  ["a Set", () => new Set<unknown>([1, "1", null, new Set([2])])],
  ["a BigInt", () => [0n, -1n, 2n ** 80n]],
  ["bytes", () => [new Uint8Array(), Uint8Array.from({ length: 256 }, (_, byte) => byte)]],
  ["a URL", () => new URL("https://example.com/a%20b?q=1#top")],
  ["an Error", () => new TypeError("not a number")],
  ["an object whose keys are words that objects know", ownProto],
  [
    "keys with dots, slashes, quotes and nothing",
    () => ({ "a.b": new Date(1), "c\\.d": [new Date(2)], "/": 1, '"': 2, "": new Date(3) }),
  ],
  [
    "objects that look like somebody's encoding",
    () => ({ json: 1, meta: { values: ["Date"] }, $type: "x", __type: "Date", types: [] }),
  ],
  [
    "one object met twice",
    () => {
      const shared = { when: new Date(5) };
      return { first: shared, second: shared };
    },
  ],
  [
    "a list a hundred deep",
    () => {
      let nested: unknown = new Date(7);
      for (let depth = 0; depth < 100; depth++) nested = [nested];
      return nested;
    },
  ],
];

const KB = 1_024;
const sizes: readonly (readonly [what: string, make: () => unknown])[] = [
  ["no characters", () => ""],
  ["a kilobyte of text", () => "k".repeat(KB)],
  ["64 kilobytes of text outside ASCII", () => "\u00fc\u{1f680}".repeat(10 * KB)],
  ["a megabyte of text", () => "m".repeat(KB * KB)],
  ["a megabyte of bytes", () => new Uint8Array(KB * KB).fill(200)],
  ["ten thousand small objects", () => Array.from({ length: 10_000 }, (_, n) => ({ n }))],
];

const kept = ([what, make]: readonly [string, () => unknown], index: number): JournalCase =>
  journalCase(
    `value ${index + 1}`,
    `${what}: equal as input, step output, payload and run output`,
    async (scene) => {
      const { store, newRun, id } = scene;
      const runId = await newRun({ status: "running", input: make() });
      const token = id("token");
      identical((await theRun(store, runId)).input, make(), "the run's input");
      identical(
        (await store.appendStep(runId, aStep("value#0", { output: make() }))).output,
        make(),
        "what appendStep answers",
      );
      identical((await store.readStep(runId, "value#0"))?.output, make(), "what readStep answers");
      identical((await store.readSteps(runId))[0]?.output, make(), "what readSteps answers");
      await store.claimHook(runId, "hook!t#0", token);
      assert.equal(await store.deliverHook(token, make()), runId);
      identical((await store.claimHook(runId, "hook!t#0", token)).payload, make(), "the hook's payload");
      await store.setStatus(runId, "completed", { output: make() });
      identical((await theRun(store, runId)).output, make(), "the run's output");
    },
  );

const deadlines: readonly (readonly [what: string, wakeAt: number])[] = [
  ["the epoch", 0],
  ["an instant before the epoch", -1],
  ["an instant with a fraction", 1_700_000_000_000.5],
  ["2^31 ms", 2 ** 31],
  ["a thousand years from now", 1_700_000_000_000 + 365_250 * DAY],
];

const deadlineCases = deadlines.map(([what, wakeAt], index) =>
  journalCase(`deadline ${index + 1}`, `${what} reads back as it was given`, async ({ store, newRun }) => {
    const runId = await newRun();
    const record = { wakeAt, woken: false, kind: "sleep" as const };
    same(await store.claimSleep(runId, "sleep!nap#0", wakeAt, undefined), record);
    same(await store.readSleeps(runId), [{ ...record, key: "sleep!nap#0" }]);
  }),
);

export const oddValueCases: JournalCaseGroup = {
  title: "odd input: values and instants",
  cases: [...[...values, ...sizes].map(kept), ...deadlineCases],
};
