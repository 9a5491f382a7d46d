/**
 * Our own cases about names: run ids, tokens, workflow names, keys, holders and correlation ids are any text, and two that differ
 * in a single UTF-16 unit are two.
 *
 * The pairs are what stores are known to mix up: an encoding that replaces lone surrogates, a column that cuts or folds its text, a
 * C string that ends at NUL, a path that splits at a slash, an object that serves as a map.
 */
import assert from "node:assert/strict";
import {
  aStep,
  DAY,
  HOUR,
  type JournalCase,
  type JournalCaseGroup,
  journalCase,
  same,
  theRun,
} from "./journal-store-conformance-scene.ts";

const long = "x".repeat(1_999);

const pairs: readonly (readonly [what: string, one: string, other: string])[] = [
  ["a slash and its escape", "a/b", "a%2Fb"],
  ["text up to a NUL", "a\u0000b", "a\u0000c"],
  ["lone surrogates", "\ud800", "\udbff"],
  ["a lone surrogate and the replacement character", "\udc00", "\ufffd"],
  ["2,000 characters that differ in the last", `${long}a`, `${long}b`],
  ["upper and lower case", "Name", "name"],
  ["a letter with its accent, and letter and accent", "\u00e9", "e\u0301"],
  ["a space at the end", "name ", "name"],
  ["percent signs", "%0000", "\u0000"],
  ["quotes and statements", `'; drop table runs; --`, `"; drop table runs; --`],
  ["wildcards", "a_b%", "axb%"],
  ["the marks of our own keys", "sleep!a#0", "hook!a#0"],
  ["emoji", "\u{1f680}", "\u{1f681}"],
  ["words that objects know", "__proto__", "constructor"],
];

const pairCases = pairs.flatMap(([what, one, other], index): JournalCase[] => {
  const number = index + 1;
  return [
    journalCase(`name ${number}a`, `run ids keep ${what} apart`, async ({ store, id }) => {
      const unique = id("run");
      const [a, b] = [unique + one, unique + other];
      await store.createRun({
        runId: a,
        workflow: "conformance",
        status: "pending",
        createdAt: 1_000,
        input: "a",
      });
      assert.equal(await store.getRun(b), undefined);
      await store.createRun({
        runId: b,
        workflow: "conformance",
        status: "pending",
        createdAt: 1_000,
        input: "b",
      });
      same([(await theRun(store, a)).runId, (await theRun(store, a)).input], [a, "a"]);
      same([(await theRun(store, b)).runId, (await theRun(store, b)).input], [b, "b"]);
      await store.appendStep(a, aStep("only-a#0"));
      same(await store.readSteps(b), []);
    }),
    journalCase(`name ${number}b`, `tokens keep ${what} apart`, async ({ store, newRun, id }) => {
      const unique = id("token");
      const [forA, forB] = [await newRun(), await newRun()];
      assert.equal((await store.claimHook(forA, "hook!t#0", unique + one)).token, unique + one);
      assert.equal((await store.claimHook(forB, "hook!t#0", unique + other)).token, unique + other);
      assert.equal(await store.deliverHook(unique + other, "b"), forB);
      assert.equal(await store.deliverHook(unique + one, "a"), forA);
    }),
    journalCase(`name ${number}c`, `workflow names keep ${what} apart`, async ({ store, newRun, id }) => {
      const unique = id("workflow");
      const a = await newRun({ workflow: unique + one });
      const b = await newRun({ workflow: unique + other });
      const listed = async (workflow: string) =>
        (await store.listRuns(workflow, 10)).map((run) => [run.runId, run.workflow]);
      same(await listed(unique + one), [[a, unique + one]]);
      same(await listed(unique + other), [[b, unique + other]]);
    }),
    journalCase(
      `name ${number}d`,
      `step, sleep and hook keys keep ${what} apart`,
      async ({ store, newRun, id }) => {
        const runId = await newRun();
        const [a, b] = [`${one}#0`, `${other}#0`];
        await store.appendStep(runId, aStep(a, { output: "a" }));
        assert.equal(await store.readStep(runId, b), undefined);
        await store.appendStep(runId, aStep(b, { output: "b" }));
        same(await store.readStep(runId, a).then((entry) => [entry?.key, entry?.name, entry?.output]), [
          a,
          one,
          "a",
        ]);
        same(await store.readStep(runId, b).then((entry) => [entry?.key, entry?.name, entry?.output]), [
          b,
          other,
          "b",
        ]);
        assert.equal((await store.claimSleep(runId, a, 1, undefined)).wakeAt, 1);
        assert.equal((await store.claimSleep(runId, b, 2, undefined)).wakeAt, 2);
        const tokens = [id("token"), id("token")] as const;
        assert.equal((await store.claimHook(runId, a, tokens[0])).token, tokens[0]);
        assert.equal((await store.claimHook(runId, b, tokens[1])).token, tokens[1]);
      },
    ),
    journalCase(
      `name ${number}e`,
      `holders and correlation ids keep ${what} apart`,
      async ({ store, newRun }) => {
        const runId = await newRun();
        assert.equal(await store.claimAttempt(runId, "work#0", one, HOUR), 1);
        assert.equal(await store.claimAttempt(runId, "work#0", other, HOUR), 2);
        await store.releaseAttempt(runId, "work#0", one);
        assert.equal(await store.claimAttempt(runId, "work#0", other, HOUR), 1);
        await store.claimSleep(runId, "sleep!a#0", Date.now() + DAY, one);
        await store.claimSleep(runId, "sleep!b#0", Date.now() + DAY, other);
        assert.equal(await store.wakeSleeps(runId, [other]), 1);
        same(
          (await store.readSleeps(runId)).map(({ correlationId, woken }) => [correlationId, woken]),
          [
            [one, false],
            [other, true],
          ],
        );
      },
    ),
  ];
});

// These must be used bare, so they cannot be new each time: what an earlier suite left in the same database is made use of.
const bareCases = ["__proto__", "constructor", "hasOwnProperty"].map((name) =>
  journalCase(
    `bare ${name}`,
    "is an ordinary run id, workflow name and token",
    async ({ store, newRun, id }) => {
      if ((await store.getRun(name)) === undefined) {
        await store.createRun({
          runId: name,
          workflow: name,
          status: "pending",
          createdAt: 1_000,
          input: name,
        });
      }
      same(await theRun(store, name).then((run) => [run.runId, run.workflow, run.input]), [name, name, name]);
      same(
        (await store.listRuns(name, 10)).map(({ runId }) => runId),
        [name],
      );
      const runId = await newRun({ status: "running" });
      same(await store.claimHook(runId, id("hook"), name), { token: name, delivered: false, closed: false });
      assert.equal(await store.deliverHook(name, 1), runId);
      await store.setStatus(runId, "completed");
      assert.equal(await store.deliverHook(name, 2), undefined);
    },
  ),
);

export const oddNameCases: JournalCaseGroup = {
  title: "odd input: names are any text",
  cases: [...pairCases, ...bareCases],
};
