/** Conformance cases 1–23: runs are created once, what is absent stays absent, and a status moves by compare and set. */
import assert from "node:assert/strict";
import type { RunRecord } from "../engine/journal-store.ts";
import {
  aRun,
  aStep,
  identical,
  type JournalCaseGroup,
  journalCase,
  same,
  theRun,
  together,
} from "./journal-store-conformance-scene.ts";

export const createdOnceCases: JournalCaseGroup = {
  title: "runs: created once",
  cases: [
    journalCase(1, "a run reads back as it was created", async ({ store, id }) => {
      const record: RunRecord = { ...aRun(id("run")), createdAt: 1_700_000_000_123 };
      await store.createRun(record);
      same(await store.getRun(record.runId), record);
    }),
    journalCase(2, "an unknown run is undefined", async ({ store, id }) => {
      assert.equal(await store.getRun(id("nobody")), undefined);
    }),
    journalCase(
      3,
      "a second run of the same id is rejected, and the first one stands",
      async ({ store, newRun, id }) => {
        const runId = await newRun();
        await assert.rejects(async () => store.createRun({ ...aRun(runId), workflow: id("usurper") }));
        assert.equal((await theRun(store, runId)).workflow, "conformance");
      },
    ),
    journalCase(
      4,
      "a list holds one workflow's runs, newest first, up to the limit",
      async ({ store, newRun, id }) => {
        const workflow = id("workflow");
        const t = 1_700_000_000_000;
        await newRun({ workflow, createdAt: t });
        const second = await newRun({ workflow, createdAt: t + 1 });
        const third = await newRun({ workflow, createdAt: t + 2 });
        await newRun({ workflow: id("other"), createdAt: t + 3 });
        const listed = await store.listRuns(workflow, 2);
        same(
          listed.map(({ runId }) => runId),
          [third, second],
        );
      },
    ),
    journalCase(5, "a workflow without runs lists none", async ({ store, id }) => {
      same(await store.listRuns(id("workflow"), 10), []);
    }),
  ],
};

export const absenceCases: JournalCaseGroup = {
  title: "runs: what is absent stays absent",
  cases: [
    journalCase(6, "an undefined input reads as undefined", async ({ store, newRun }) => {
      assert.equal((await theRun(store, await newRun({ input: undefined }))).input, undefined);
    }),
    journalCase(7, "a null input reads as null", async ({ store, newRun }) => {
      assert.equal((await theRun(store, await newRun({ input: null }))).input, null);
    }),
    journalCase(8, "a code version of 64 characters reads back whole", async ({ store, newRun }) => {
      const codeVersion = "0123456789abcdef".repeat(4);
      assert.equal((await theRun(store, await newRun({ codeVersion }))).codeVersion, codeVersion);
    }),
    journalCase(9, "a run without a code version reads as having none", async ({ store, newRun }) => {
      assert.equal((await theRun(store, await newRun())).codeVersion, undefined);
    }),
    journalCase(10, "a listed run carries its code version too", async ({ store, newRun, id }) => {
      const workflow = id("workflow");
      await newRun({ workflow, codeVersion: "v1" });
      const listed = await store.listRuns(workflow, 10);
      same(
        listed.map(({ codeVersion }) => codeVersion),
        ["v1"],
      );
    }),
    journalCase(
      11,
      "a run completed with an undefined output is completed and has none",
      async ({ store, newRun }) => {
        const runId = await newRun({ status: "running" });
        assert.equal(await store.setStatus(runId, "completed", { output: undefined }), true);
        const record = await theRun(store, runId);
        assert.equal(record.status, "completed");
        assert.equal(record.output, undefined);
      },
    ),
    journalCase(12, "a run completed with null has null as its output", async ({ store, newRun }) => {
      const runId = await newRun({ status: "running" });
      await store.setStatus(runId, "completed", { output: null });
      assert.equal((await theRun(store, runId)).output, null);
    }),
    journalCase(13, "a completed run has no error", async ({ store, newRun }) => {
      const runId = await newRun({ status: "running" });
      await store.setStatus(runId, "completed", { output: 1 });
      assert.equal((await theRun(store, runId)).error, undefined);
    }),
    journalCase(14, "a failed run keeps its message", async ({ store, newRun }) => {
      const runId = await newRun({ status: "running" });
      await store.setStatus(runId, "failed", { error: { message: "out of paper" } });
      const record = await theRun(store, runId);
      assert.equal(record.status, "failed");
      same(record.error, { message: "out of paper" });
    }),
    journalCase(15, "a step without an output has neither output nor error", async ({ store, newRun }) => {
      const runId = await newRun();
      const { output: _, ...entry } = aStep("quiet#0");
      await store.appendStep(runId, entry);
      const stored = await store.readStep(runId, "quiet#0");
      assert.equal(stored?.status, "ok");
      assert.equal(stored?.output, undefined);
      assert.equal(stored?.error, undefined);
    }),
    journalCase(16, "a failed step keeps its error and has no output", async ({ store, newRun }) => {
      const runId = await newRun();
      const { output: _, ...entry } = aStep("broken#0", { status: "failed", error: { message: "no ink" } });
      await store.appendStep(runId, entry);
      const stored = await store.readStep(runId, "broken#0");
      assert.equal(stored?.status, "failed");
      same(stored?.error, { message: "no ink" });
      assert.equal(stored?.output, undefined);
    }),
    journalCase(17, "a step that answered null reads as null", async ({ store, newRun }) => {
      const runId = await newRun();
      await store.appendStep(runId, aStep("nothing#0", { output: null }));
      assert.equal((await store.readStep(runId, "nothing#0"))?.output, null);
    }),
  ],
};

export const setStatusCases: JournalCaseGroup = {
  title: "runs: the status moves by compare and set",
  cases: [
    journalCase(18, "a run in the expected status moves and keeps its output", async ({ store, newRun }) => {
      const runId = await newRun({ status: "running" });
      assert.equal(await store.setStatus(runId, "completed", { output: { pages: 3 } }, ["running"]), true);
      const record = await theRun(store, runId);
      assert.equal(record.status, "completed");
      identical(record.output, { pages: 3 });
    }),
    journalCase(
      19,
      "a cancelled run is not completed by a worker that had not noticed",
      async ({ store, newRun }) => {
        const runId = await newRun({ status: "running" });
        assert.equal(await store.setStatus(runId, "cancelled", undefined, ["pending", "running"]), true);
        assert.equal(await store.setStatus(runId, "completed", { output: "late" }, ["running"]), false);
        const record = await theRun(store, runId);
        assert.equal(record.status, "cancelled");
        assert.equal(record.output, undefined);
      },
    ),
    journalCase(20, "without an expectation the status moves", async ({ store, newRun }) => {
      const runId = await newRun();
      assert.equal(await store.setStatus(runId, "running"), true);
      assert.equal((await theRun(store, runId)).status, "running");
    }),
    journalCase(21, "an unknown run does not move", async ({ store, id }) => {
      assert.equal(await store.setStatus(id("nobody"), "running"), false);
    }),
    journalCase(22, "of two concurrent completions exactly one moves the run", async ({ store, newRun }) => {
      const runId = await newRun({ status: "running" });
      const complete = (output: string) => () => store.setStatus(runId, "completed", { output }, ["running"]);
      const moved = await together(complete("a"), complete("b"));
      same([...moved].sort(), [false, true]);
      assert.equal((await theRun(store, runId)).output, moved[0] ? "a" : "b");
    }),
    journalCase(23, "a later move without a patch leaves the output alone", async ({ store, newRun }) => {
      const runId = await newRun({ status: "running" });
      await store.setStatus(runId, "completed", { output: "kept" });
      assert.equal(await store.setStatus(runId, "completed"), true);
      assert.equal((await theRun(store, runId)).output, "kept");
    }),
  ],
};
