/** Conformance cases 24–33 and 46–51: a settled step is written once, read by key or in bulk, and its values survive. */
import assert from "node:assert/strict";
import {
  aStep,
  identical,
  type JournalCaseGroup,
  journalCase,
  same,
  theRun,
  together,
} from "./journal-store-conformance-scene.ts";

const appendCases: JournalCaseGroup = {
  title: "steps: the first entry of a key stands",
  cases: [
    journalCase(
      24,
      "a second entry of a key is answered with the first, and not stored",
      async ({ store, newRun }) => {
        const runId = await newRun();
        const first = aStep("read#0", { output: "first", attempts: 1, finishedAt: 1_000 });
        const second = aStep("read#0", { output: "second", attempts: 2, finishedAt: 2_000 });
        same(await store.appendStep(runId, first), first);
        same(await store.appendStep(runId, second), first);
        same(await store.readSteps(runId), [first]);
      },
    ),
    journalCase(
      25,
      "two concurrent entries of a key get one answer and leave one row",
      async ({ store, newRun }) => {
        const runId = await newRun();
        const append = (output: string) => () => store.appendStep(runId, aStep("read#0", { output }));
        const [one, other] = await together(append("one"), append("other"));
        same(one, other);
        same(await store.readSteps(runId), [one]);
      },
    ),
  ],
};

const readCases: JournalCaseGroup = {
  title: "steps: reads",
  cases: [
    journalCase(26, "entries are read in the order in which they finished", async ({ store, newRun }) => {
      const runId = await newRun();
      for (const [index, key] of ["c#0", "a#0", "b#0"].entries()) {
        await store.appendStep(runId, aStep(key, { finishedAt: 1_000 + index }));
      }
      same(
        (await store.readSteps(runId)).map(({ key }) => key),
        ["c#0", "a#0", "b#0"],
      );
    }),
    journalCase(27, "a run without steps and an unknown run have none", async ({ store, newRun, id }) => {
      same(await store.readSteps(await newRun()), []);
      same(await store.readSteps(id("nobody")), []);
    }),
    journalCase(
      28,
      "one step is found by run and key, and by nothing else",
      async ({ store, newRun, id }) => {
        const [runId, otherRun] = [await newRun(), await newRun()];
        const entry = aStep("read#0");
        await store.appendStep(runId, entry);
        same(await store.readStep(runId, "read#0"), entry);
        assert.equal(await store.readStep(runId, "read#1"), undefined);
        assert.equal(await store.readStep(otherRun, "read#0"), undefined);
        assert.equal(await store.readStep(id("nobody"), "read#0"), undefined);
      },
    ),
    journalCase(29, "reading one step and reading all of them agree", async ({ store, newRun }) => {
      const runId = await newRun();
      await store.appendStep(runId, aStep("a#0", { startedAt: 500, finishedAt: 900 }));
      await store.appendStep(runId, aStep("b#0", { startedAt: 901, finishedAt: 950, output: [1, 2] }));
      const all = await store.readSteps(runId);
      assert.equal(all.length, 2);
      for (const entry of all) same(await store.readStep(runId, entry.key), entry);
      same(
        all.map(({ startedAt }) => startedAt),
        [500, 901],
      );
    }),
    journalCase(30, "key, name and attempts are stored as given", async ({ store, newRun }) => {
      const runId = await newRun();
      await store.appendStep(runId, aStep("poll#3", { name: "poll", attempts: 4 }));
      const stored = await store.readStep(runId, "poll#3");
      same([stored?.key, stored?.name, stored?.attempts], ["poll#3", "poll", 4]);
    }),
    journalCase(31, "both instants survive the append and the bulk read", async ({ store, newRun }) => {
      const runId = await newRun();
      const answered = await store.appendStep(
        runId,
        aStep("slow#0", { startedAt: 1_000, finishedAt: 4_500 }),
      );
      same([answered.startedAt, answered.finishedAt], [1_000, 4_500]);
      const [read] = await store.readSteps(runId);
      same([read?.startedAt, read?.finishedAt], [1_000, 4_500]);
    }),
    journalCase(32, "an absent start reads as absent, never as zero", async ({ store, newRun }) => {
      const runId = await newRun();
      const answered = await store.appendStep(runId, aStep("old#0"));
      assert.equal(answered.startedAt, undefined);
      const [read] = await store.readSteps(runId);
      assert.equal(read?.startedAt, undefined);
    }),
    journalCase(33, "a start at zero reads as zero, never as absent", async ({ store, newRun }) => {
      const runId = await newRun();
      await store.appendStep(runId, aStep("epoch#0", { startedAt: 0 }));
      const [read] = await store.readSteps(runId);
      assert.equal(read?.startedAt, 0);
    }),
  ],
};

export const stepCases: readonly JournalCaseGroup[] = [appendCases, readCases];

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

export const codecCases: JournalCaseGroup = {
  title: "values survive the store",
  cases: [
    journalCase(46, "bytes and dates in a step's output", async ({ store, newRun }) => {
      const runId = await newRun();
      const output = { raw: bytes(0, 127, 128, 255), when: new Date(1_700_000_000_123) };
      identical((await store.appendStep(runId, aStep("value#0", { output }))).output, output);
      identical((await store.readSteps(runId))[0]?.output, output);
    }),
    journalCase(47, "bytes and dates in a run's input", async ({ store, newRun }) => {
      const input = { raw: bytes(1, 2, 3), when: new Date(0) };
      identical((await theRun(store, await newRun({ input }))).input, input);
    }),
    journalCase(
      48,
      "maps and sets within each other, with a date and bytes deep inside",
      async ({ store, newRun }) => {
        const runId = await newRun();
        const output = new Map<string, unknown>([
          ["when", new Date(86_400_000)],
          ["parts", new Set([bytes(9, 8), "text"])],
          ["deeper", new Map([["inner", new Set([1, 2])]])],
        ]);
        await store.appendStep(runId, aStep("value#0", { output }));
        identical((await store.readStep(runId, "value#0"))?.output, output);
      },
    ),
    journalCase(49, "a date and bytes as the keys of a map", async ({ store, newRun }) => {
      const runId = await newRun();
      const output = new Map<unknown, string>([
        [new Date(1), "a date"],
        [bytes(1, 2), "bytes"],
      ]);
      await store.appendStep(runId, aStep("value#0", { output }));
      identical((await store.readStep(runId, "value#0"))?.output, output);
    }),
    journalCase(
      50,
      "an author's own object that looks like an encoded map stays data",
      async ({ store, newRun }) => {
        const runId = await newRun();
        const output = {
          __type: "Map",
          value: [["a", 1]],
          nested: { __type: "Set", ___type: "x", value: [1] },
        };
        await store.appendStep(runId, aStep("value#0", { output }));
        const stored = (await store.readStep(runId, "value#0"))?.output;
        assert.equal(stored instanceof Map, false);
        identical(stored, output);
      },
    ),
    journalCase(
      51,
      "NUL, control characters and lone surrogates in values and keys",
      async ({ store, newRun }) => {
        const input = { "nul\u0000key": "nul\u0000value", "key\ud800": "value\udc00" };
        const output = { text: "\udfff and \u0001" };
        const runId = await newRun({ input });
        await store.appendStep(runId, aStep("value#0", { output }));
        identical((await theRun(store, runId)).input, input);
        identical((await store.readStep(runId, "value#0"))?.output, output);
      },
    ),
  ],
};
