/** Our own cases about order and finality, which the numbered ones leave open: ties, entries out of order, what a later call may change. */
import assert from "node:assert/strict";
import { owed } from "./journal-store-conformance-resume.ts";
import {
  aStep,
  DAY,
  HOUR,
  type JournalCaseGroup,
  journalCase,
  resumeCase,
  same,
  theRun,
  together,
} from "./journal-store-conformance-scene.ts";

const KEY = "hook!review#0";

export const orderCases: JournalCaseGroup = {
  title: "order and finality",
  cases: [
    journalCase(
      "order 1",
      "steps are read by when they finished, not by when they were written",
      async ({ store, newRun }) => {
        const runId = await newRun();
        for (const [key, finishedAt] of [
          ["late#0", 3_000],
          ["early#0", 1_000],
          ["middle#0", 2_000],
        ] as const) {
          await store.appendStep(runId, aStep(key, { finishedAt }));
        }
        same(
          (await store.readSteps(runId)).map(({ key }) => key),
          ["early#0", "middle#0", "late#0"],
        );
      },
    ),
    journalCase("order 2", "steps that finished together are read by key", async ({ store, newRun }) => {
      const runId = await newRun();
      for (const key of ["b#0", "c#0", "a#0"])
        await store.appendStep(runId, aStep(key, { finishedAt: 1_000 }));
      same(
        (await store.readSteps(runId)).map(({ key }) => key),
        ["a#0", "b#0", "c#0"],
      );
    }),
    journalCase(
      "order 3",
      "runs are listed by their creation instant, not by when they were written",
      async (scene) => {
        const { store, newRun, id } = scene;
        const workflow = id("workflow");
        const middle = await newRun({ workflow, createdAt: 2_000 });
        const newest = await newRun({ workflow, createdAt: 3_000 });
        const oldest = await newRun({ workflow, createdAt: 1_000 });
        same(
          (await store.listRuns(workflow, 10)).map(({ runId }) => runId),
          [newest, middle, oldest],
        );
      },
    ),
    journalCase(
      "order 4",
      "a listed run has all the fields of the run itself",
      async ({ store, newRun, id }) => {
        const workflow = id("workflow");
        const runId = await newRun({ workflow, status: "running", codeVersion: "v2" });
        await store.setStatus(runId, "completed", { output: { pages: 7 } });
        same(await store.listRuns(workflow, 1), [await theRun(store, runId)]);
      },
    ),
    journalCase(
      "order 5",
      "runs created in the same millisecond are listed whole, in one order, whatever the limit",
      async (scene) => {
        const { store, newRun, id } = scene;
        const workflow = id("workflow");
        const created = [];
        for (let n = 0; n < 5; n++) created.push(await newRun({ workflow, createdAt: 1_000 }));
        const all = (await store.listRuns(workflow, 10)).map(({ runId }) => runId);
        same([...all].sort(), created.sort());
        same(
          (await store.listRuns(workflow, 2)).map(({ runId }) => runId),
          all.slice(0, 2),
        );
      },
    ),
    resumeCase(
      "order 6",
      "runs owed a delivery by now come before those owed one later",
      async ({ store, newRun }) => {
        const [later, now, overdue] = [
          await newRun({ status: "running" }),
          await newRun(),
          await newRun({ status: "running" }),
        ];
        await store.claimSleep(later, "sleep!nap#0", Date.now() + DAY, undefined);
        await store.claimSleep(overdue, "sleep!nap#0", Date.now() - HOUR, undefined);
        const order = (await owed(store, later, now, overdue)).map(({ runId }) => runId);
        assert.equal(order.at(-1), later);
        same([...order].sort(), [later, now, overdue].sort());
      },
    ),
    journalCase(
      "final 1",
      "of two concurrent creations of one id exactly one stands, with its own input",
      async ({ store, id }) => {
        const runId = id("run");
        const create = (input: string) => async (): Promise<string> => {
          try {
            await store.createRun({
              runId,
              workflow: "conformance",
              status: "pending",
              createdAt: 1_000,
              input,
            });
            return "created";
          } catch {
            return "rejected";
          }
        };
        const outcomes = await together(create("a"), create("b"));
        same([...outcomes].sort(), ["created", "rejected"]);
        assert.equal((await theRun(store, runId)).input, outcomes[0] === "created" ? "a" : "b");
      },
    ),
    journalCase(
      "final 2",
      "answering and closing one window at once: exactly one of them wins",
      async ({ store, newRun, id }) => {
        const [runId, token] = [await newRun(), id("token")];
        await store.claimHook(runId, KEY, token);
        const [closed, answered] = await Promise.all([
          store.closeHook(runId, KEY),
          store.deliverHook(token, "yes"),
        ]);
        assert.equal(closed, answered === undefined, "the window is closed, or answered, and never both");
        const record = await store.claimHook(runId, KEY, token);
        same([record.closed, record.delivered], [closed, !closed]);
      },
    ),
    journalCase(
      "final 3",
      "a run that does not move keeps its status, its output and its tokens",
      async ({ store, newRun, id }) => {
        const [runId, token] = [await newRun(), id("token")];
        await store.claimHook(runId, KEY, token);
        assert.equal(await store.setStatus(runId, "completed", { output: 1 }, ["running"]), false);
        assert.equal((await theRun(store, runId)).status, "pending");
        assert.equal((await theRun(store, runId)).output, undefined);
        assert.equal(await store.deliverHook(token, "still here"), runId);
      },
    ),
    journalCase(
      "final 4",
      "a hook may be claimed again after its answer, and another token changes nothing",
      async (scene) => {
        const { store, newRun, id } = scene;
        const [runId, token] = [await newRun(), id("token")];
        await store.claimHook(runId, KEY, token);
        await store.deliverHook(token, null);
        same(await store.claimHook(runId, KEY, id("another")), {
          token,
          delivered: true,
          closed: false,
          payload: null,
        });
      },
    ),
    journalCase("final 5", "a wake with an empty list of ids reaches nothing", async ({ store, newRun }) => {
      const runId = await newRun();
      await store.claimSleep(runId, "sleep!nap#0", Date.now() + DAY, "id");
      assert.equal(await store.wakeSleeps(runId, []), 0);
    }),
    journalCase(
      "final 6",
      "a step's key, a sleep's key and a hook's key do not meet",
      async ({ store, newRun, id }) => {
        const [runId, key, token] = [await newRun(), "same#0", id("token")];
        await store.appendStep(runId, aStep(key));
        same(await store.claimSleep(runId, key, 5_000, undefined), {
          wakeAt: 5_000,
          woken: false,
          kind: "sleep",
        });
        same(await store.claimHook(runId, key, token), { token, delivered: false, closed: false });
        assert.equal(await store.claimAttempt(runId, key, "w1", HOUR), 1);
        assert.equal((await store.readSteps(runId)).length, 1);
        assert.equal((await store.readSleeps(runId)).length, 1);
      },
    ),
  ],
};
