/** Our own cases about the shape of a store: methods that travel, answers and arguments that are nobody's live objects, a clock read at the call. */
import assert from "node:assert/strict";
import type { JournalStore } from "../engine/journal-store.ts";
import {
  aRun,
  aStep,
  at,
  DAY,
  HOUR,
  identical,
  type JournalCaseGroup,
  journalCase,
  same,
  theRun,
} from "./journal-store-conformance-scene.ts";

const methods = [
  "createRun",
  "getRun",
  "listRuns",
  "setStatus",
  "readSteps",
  "readStep",
  "claimAttempt",
  "releaseAttempt",
  "claimSleep",
  "wakeSleeps",
  "readSleeps",
  "claimHook",
  "closeHook",
  "deliverHook",
  "appendStep",
] as const satisfies readonly (keyof JournalStore)[];

// Freezing would hide the fault that is looked for, so the answer is really changed, as deep as it goes.
const vandalise = (value: unknown): void => {
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return;
  for (const inner of Object.values(value)) vandalise(inner);
  if (Array.isArray(value)) value.push("vandalised");
  else Object.assign(value, { vandalised: true, output: "vandalised", woken: true, payload: "vandalised" });
};

export const shapeCases: JournalCaseGroup = {
  title: "the shape of a store",
  cases: [
    journalCase("shape 1", "all methods are own enumerable properties", async ({ store }) => {
      for (const method of methods) {
        const property = Object.getOwnPropertyDescriptor(store, method);
        assert.equal(property?.enumerable, true, `${method} is an own enumerable property`);
        assert.equal(typeof store[method], "function", `${method} is a function`);
      }
    }),
    journalCase("shape 2", "a spread copy with one method replaced is a store", async ({ store, id }) => {
      const seen: string[] = [];
      const copy: JournalStore = {
        ...store,
        appendStep: (runId, entry) => {
          seen.push(entry.key);
          return store.appendStep(runId, entry);
        },
      };
      const record = aRun(id("run"));
      await copy.createRun(record);
      await copy.appendStep(record.runId, aStep("work#0"));
      same(await copy.getRun(record.runId), record);
      same(
        (await store.readSteps(record.runId)).map(({ key }) => key),
        seen,
      );
    }),
    journalCase("shape 3", "methods work when they are called without the store", async ({ store, id }) => {
      const { createRun, getRun, listRuns, setStatus, appendStep, readStep, readSteps, claimAttempt } = store;
      const { releaseAttempt, claimSleep, readSleeps, wakeSleeps, claimHook, deliverHook, closeHook } = store;
      const [record, token] = [{ ...aRun(id("run")), workflow: id("workflow") }, id("token")];
      await createRun(record);
      same(await getRun(record.runId), record);
      same(await listRuns(record.workflow, 5), [record]);
      const entry = aStep("work#0");
      assert.equal(await claimAttempt(record.runId, "work#0", "w1", HOUR), 1);
      await releaseAttempt(record.runId, "work#0", "w1");
      same(await appendStep(record.runId, entry), entry);
      same(await readStep(record.runId, "work#0"), entry);
      same(await readSteps(record.runId), [entry]);
      await claimSleep(record.runId, "sleep!nap#0", Date.now() + DAY, undefined);
      assert.equal(await wakeSleeps(record.runId, undefined), 1);
      assert.equal((await readSleeps(record.runId)).length, 1);
      await claimHook(record.runId, "hook!t#0", token);
      assert.equal(await deliverHook(token, 1), record.runId);
      assert.equal(await closeHook(record.runId, "hook!t#0"), false);
      assert.equal(await setStatus(record.runId, "completed"), true);
    }),
    journalCase(
      "shape 4",
      "what a caller does to an answer does not reach the store",
      async ({ store, newRun, id }) => {
        const [workflow, token] = [id("workflow"), id("token")];
        const deep = () => ({ list: [{ n: 1 }], when: new Date(1) });
        const runId = await newRun({ workflow, status: "running", input: deep() });
        await store.appendStep(runId, aStep("work#0", { output: deep() }));
        await store.claimSleep(runId, "sleep!nap#0", Date.now() + DAY, undefined);
        await store.claimHook(runId, "hook!t#0", token);
        await store.deliverHook(token, deep());
        await store.setStatus(runId, "running", { output: deep() });
        const readAll = async (): Promise<unknown[]> => [
          await store.getRun(runId),
          await store.listRuns(workflow, 5),
          await store.readStep(runId, "work#0"),
          await store.readSteps(runId),
          await store.appendStep(runId, aStep("work#0")),
          await store.claimSleep(runId, "sleep!nap#0", 1, undefined),
          await store.readSleeps(runId),
          await store.claimHook(runId, "hook!t#0", token),
        ];
        const before = structuredClone(await readAll());
        vandalise(await readAll());
        identical(await readAll(), before);
      },
    ),
    journalCase(
      "shape 5",
      "what a caller does to a record after handing it over does not reach the store",
      async (scene) => {
        const { store, id } = scene;
        const [record, entry] = [aRun(id("run")), aStep("work#0")];
        const [run, step] = [{ ...record }, { ...entry }];
        await store.createRun(run);
        await store.appendStep(run.runId, step);
        Object.assign(run, { workflow: "changed", status: "failed", input: "changed" });
        Object.assign(step, { name: "changed", output: "changed", attempts: 99 });
        same(await store.getRun(record.runId), record);
        same(await store.readStep(record.runId, "work#0"), entry);
      },
    ),
    journalCase(
      "shape 6",
      "answers of one read are not the answers of another",
      async ({ store, newRun }) => {
        const runId = await newRun();
        assert.notEqual(await store.getRun(runId), await store.getRun(runId));
        await store.appendStep(runId, aStep("work#0"));
        assert.notEqual(await store.readSteps(runId), await store.readSteps(runId));
      },
    ),
    journalCase(
      "shape 7",
      "whether a wait has elapsed is asked of the process's clock at the call",
      async ({ store, newRun }) => {
        const [runId, wakeAt] = [await newRun(), Date.now() + HOUR];
        await store.claimSleep(runId, "sleep!nap#0", wakeAt, undefined);
        assert.equal(await at(wakeAt, () => store.wakeSleeps(runId, undefined)), 0);
        assert.equal(await at(wakeAt - 1, () => store.wakeSleeps(runId, undefined)), 1);
        assert.equal((await theRun(store, runId)).status, "pending");
      },
    ),
  ],
};
