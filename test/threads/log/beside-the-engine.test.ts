/** Threads and runs of the engine in one log: neither is taken for the other. */
import { expect, onTestFinished, test } from "vitest";
import { openRunstream, workflow as runWorkflow } from "../../../src/index.ts";
import { logCheckpointer, workflow } from "../../../src/threads/index.ts";
import { openLog, STORES, typesOf } from "./kit.ts";

const thread = (checkpointer: ReturnType<typeof logCheckpointer>) =>
  workflow(
    async (_input: unknown, { step, interrupt }) => {
      await step("first", () => 1);
      return interrupt<number>({ reason: "How many?" });
    },
    { name: "job", checkpointer },
  );

test.for(STORES)("on a %s log a worker walks the runs, and takes no notice of threads", async (store) => {
  const log = await openLog(store);
  const job = runWorkflow({ run: async (_input, ctx) => ctx.step("one", async () => "ran") });
  const runstream = openRunstream({ store: log, workflows: { job } });
  onTestFinished(() => runstream.stop());
  runstream.work();
  const threads = thread(logCheckpointer(log));
  await threads.invoke(null, { threadId: "asks" });
  const runId = await runstream.start(job, {});
  expect(await runstream.result(runId)).toMatchObject({ status: "completed", output: "ran" });
  expect(await threads.resumeWith("asks", 3)).toMatchObject({ status: "completed", output: 3 });
  const again = await runstream.start(job, {});
  await runstream.result(again);
  expect(await typesOf(log, "asks")).toEqual([
    "ThreadStarted",
    "ThreadStepSettled",
    "ThreadQuestionAsked",
    "ThreadPaused",
    "ThreadAnswered",
    "ThreadContinued",
    "ThreadCompleted",
  ]);
  const { runs } = await runstream.list();
  expect(runs.map(({ runId: id, status }) => [id, status])).toEqual(
    expect.arrayContaining([
      ["asks", "completed"],
      [runId, "completed"],
      [again, "completed"],
    ]),
  );
  expect(await runstream.index.owed(10)).toEqual([]);
  expect(await runstream.index.problems()).toEqual([]);
  expect(await logCheckpointer(log).threadIds()).toEqual(["asks"]);
});

test("a run is not started under a thread's id, nor a thread under a run's, and what is there stays", async () => {
  const log = await openLog("memory");
  const job = runWorkflow({ run: async () => 1 });
  const runstream = openRunstream({ store: log, workflows: { job } });
  onTestFinished(() => runstream.stop());
  const threads = thread(logCheckpointer(log));
  await threads.invoke(null, { threadId: "t" });
  await runstream.start(job, {}, { runId: "r" });
  await expect(runstream.start(job, {}, { runId: "t" })).rejects.toThrow(
    "the stream belongs to a thread, which is resumed or continued and not run by workers. Give a run of your own another id.",
  );
  await expect(runstream.cancel("t")).rejects.toThrow("the stream belongs to a thread");
  await expect(threads.invoke(null, { threadId: "r" })).rejects.toThrow(
    "the stream belongs to a run, of the workflow engine or of the Workflow SDK. Give the thread another id.",
  );
  expect(await threads.state("t")).toMatchObject({ status: "awaiting_input" });
  expect(await runstream.get("r")).toMatchObject({ status: "pending" });
});
