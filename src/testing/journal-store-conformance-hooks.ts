/** Conformance cases 67–83: a token has one live wait, a wait is answered or closed once, and a settled run frees its tokens. */
import assert from "node:assert/strict";
import { JournalConflictError } from "../engine/journal-conflict-error.ts";
import {
  identical,
  type JournalCaseGroup,
  journalCase,
  same,
  together,
} from "./journal-store-conformance-scene.ts";

const KEY = "hook!review#0";

const claimCases: JournalCaseGroup = {
  title: "waits: a hook holds its token alone",
  cases: [
    journalCase(
      67,
      "a new hook is neither delivered nor closed, and says so",
      async ({ store, newRun, id }) => {
        const token = id("token");
        const record = await store.claimHook(await newRun(), KEY, token);
        same(record, { token, delivered: false, closed: false });
        assert.equal(record.closed, false);
        assert.equal(record.payload, undefined);
      },
    ),
    journalCase(68, "claiming a hook again answers the same hook", async ({ store, newRun, id }) => {
      const [runId, token] = [await newRun(), id("token")];
      const first = await store.claimHook(runId, KEY, token);
      same(await store.claimHook(runId, KEY, token), first);
    }),
    journalCase(69, "a token that another run's wait holds is a conflict", async ({ store, newRun, id }) => {
      const token = id("token");
      await store.claimHook(await newRun(), KEY, token);
      const other = await newRun();
      await assert.rejects(async () => store.claimHook(other, KEY, token), JournalConflictError.is);
    }),
    journalCase(
      70,
      "a token that another wait of the same run holds is a conflict",
      async ({ store, newRun, id }) => {
        const [runId, token] = [await newRun(), id("token")];
        await store.claimHook(runId, KEY, token);
        await assert.rejects(
          async () => store.claimHook(runId, "hook!review#1", token),
          JournalConflictError.is,
        );
      },
    ),
  ],
};

const deliverCases: JournalCaseGroup = {
  title: "waits: a hook is answered once",
  cases: [
    journalCase(
      71,
      "an answer says whose it was, and is read back by the wait",
      async ({ store, newRun, id }) => {
        const [runId, token] = [await newRun(), id("token")];
        await store.claimHook(runId, KEY, token);
        assert.equal(await store.deliverHook(token, { approved: true }), runId);
        same(await store.claimHook(runId, KEY, token), {
          token,
          delivered: true,
          closed: false,
          payload: { approved: true },
        });
      },
    ),
    journalCase(72, "bytes and dates in an answer survive", async ({ store, newRun, id }) => {
      const [runId, token] = [await newRun(), id("token")];
      const payload = { raw: Uint8Array.of(0, 200), when: new Date(1_700_000_000_123) };
      await store.claimHook(runId, KEY, token);
      await store.deliverHook(token, payload);
      identical((await store.claimHook(runId, KEY, token)).payload, payload);
    }),
    journalCase(73, "a token nobody waits on takes no answer", async ({ store, id }) => {
      assert.equal(await store.deliverHook(id("token"), 1), undefined);
    }),
    journalCase(74, "a second answer is refused, and the first one stays", async ({ store, newRun, id }) => {
      const [runId, token] = [await newRun(), id("token")];
      await store.claimHook(runId, KEY, token);
      await store.deliverHook(token, "first");
      assert.equal(await store.deliverHook(token, "second"), undefined);
      assert.equal((await store.claimHook(runId, KEY, token)).payload, "first");
    }),
    journalCase(75, "of two concurrent answers exactly one is taken", async ({ store, newRun, id }) => {
      const [runId, token] = [await newRun(), id("token")];
      await store.claimHook(runId, KEY, token);
      const deliver = (payload: string) => () => store.deliverHook(token, payload);
      const answers = await together(deliver("a"), deliver("b"));
      assert.equal(answers.filter((answer) => answer === runId).length, 1);
      assert.equal(answers.filter((answer) => answer === undefined).length, 1);
      assert.equal((await store.claimHook(runId, KEY, token)).payload, answers[0] === runId ? "a" : "b");
    }),
  ],
};

const closeCases: JournalCaseGroup = {
  title: "waits: a window closes only unanswered",
  cases: [
    journalCase(76, "an open window closes", async ({ store, newRun, id }) => {
      const [runId, token] = [await newRun(), id("token")];
      await store.claimHook(runId, KEY, token);
      assert.equal(await store.closeHook(runId, KEY), true);
      assert.equal((await store.claimHook(runId, KEY, token)).closed, true);
    }),
    journalCase(77, "a closed window closes again", async ({ store, newRun, id }) => {
      const runId = await newRun();
      await store.claimHook(runId, KEY, id("token"));
      await store.closeHook(runId, KEY);
      assert.equal(await store.closeHook(runId, KEY), true);
    }),
    journalCase(
      78,
      "a window nobody opened, and one of an unknown run, count as closed",
      async ({ store, newRun, id }) => {
        assert.equal(await store.closeHook(await newRun(), KEY), true);
        assert.equal(await store.closeHook(id("nobody"), KEY), true);
      },
    ),
    journalCase(
      79,
      "an answered window does not close, and keeps its answer",
      async ({ store, newRun, id }) => {
        const [runId, token] = [await newRun(), id("token")];
        await store.claimHook(runId, KEY, token);
        await store.deliverHook(token, "yes");
        assert.equal(await store.closeHook(runId, KEY), false);
        same(await store.claimHook(runId, KEY, token), {
          token,
          delivered: true,
          closed: false,
          payload: "yes",
        });
      },
    ),
    journalCase(80, "a closed window takes no answer", async ({ store, newRun, id }) => {
      const [runId, token] = [await newRun(), id("token")];
      await store.claimHook(runId, KEY, token);
      await store.closeHook(runId, KEY);
      assert.equal(await store.deliverHook(token, "late"), undefined);
      assert.equal((await store.claimHook(runId, KEY, token)).delivered, false);
    }),
  ],
};

const terminalCases: JournalCaseGroup = {
  title: "waits: a settled run frees its tokens",
  cases: [
    journalCase(
      81,
      "a completed run's token may be claimed by another run",
      async ({ store, newRun, id }) => {
        const [first, second, token] = [await newRun({ status: "running" }), await newRun(), id("token")];
        await store.claimHook(first, KEY, token);
        await store.setStatus(first, "completed", { output: 1 });
        same(await store.claimHook(second, KEY, token), { token, delivered: false, closed: false });
        assert.equal(await store.deliverHook(token, "for the second"), second);
      },
    ),
    journalCase(82, "a failed run's token takes no answer", async ({ store, newRun, id }) => {
      const [runId, token] = [await newRun({ status: "running" }), id("token")];
      await store.claimHook(runId, KEY, token);
      await store.setStatus(runId, "failed", { error: { message: "over" } });
      assert.equal(await store.deliverHook(token, "late"), undefined);
    }),
    journalCase(83, "a run that starts running keeps its token", async ({ store, newRun, id }) => {
      const [runId, token] = [await newRun(), id("token")];
      await store.claimHook(runId, KEY, token);
      await store.setStatus(runId, "running", undefined, ["pending"]);
      assert.equal(await store.deliverHook(token, 1), runId);
    }),
  ],
};

export const hookCases: readonly JournalCaseGroup[] = [claimCases, deliverCases, closeCases, terminalCases];
