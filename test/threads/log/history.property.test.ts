/** A thread's history is the list of prefixes of its stream, whatever was written, and by whom. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ThreadEvent } from "../../../src/events/catalogue.ts";
import { emptyThread, evolveThread, foldThread } from "../../../src/projections/thread-state.ts";
import { createMemoryLog } from "../../../src/store-memory/index.ts";
import {
  type ChangeCheckpointer,
  type CheckpointChange,
  OPEN_THREAD,
} from "../../../src/threads/checkpoint-writer.ts";
import { viewCheckpoint } from "../../../src/threads/log/checkpoint-view.ts";
import { logCheckpointer } from "../../../src/threads/log/log-checkpointer.ts";
import { eventsOf, invoked, plain, settled, ThreadModel } from "./kit.ts";

const values = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(undefined, null, new Date(7), 3n, Number.NaN, new Map([["k", new Set([1])]])),
);
const keys = fc.constantFrom("load", "load#2", "charge", "__proto__", "a.b");

const runs = fc.record({
  from: fc.constantFrom("invoke" as const, "resume" as const, "continue" as const),
  input: values,
  recordStart: fc.boolean(),
  answers: fc.array(fc.tuple(fc.constantFrom("refunds:interrupt:0", "refunds:interrupt:1"), values), {
    maxLength: 2,
  }),
  steps: fc.uniqueArray(fc.tuple(keys, values), { maxLength: 4, selector: ([key]) => key }),
  /** Where the process dies, if it does; and how the changes gather. */
  end: fc.constantFrom("crash", "awaiting_input", "interrupted", "drained", "failed", "completed" as const),
  output: values,
  together: fc.boolean(),
});

const puts = fc.record({ back: fc.nat({ max: 3 }), status: fc.constantFrom("running", "failed" as const) });

type Run = typeof runs extends fc.Arbitrary<infer T> ? T : never;

const changesOf = (model: ThreadModel, run: Run): CheckpointChange[] => {
  const from = model.latest === undefined ? "invoke" : run.from;
  const known = new Set(from === "invoke" ? [] : Object.keys(model.latest?.state.steps as object));
  let opening: Parameters<ThreadModel["next"]>[0] | object = {
    begins: from === "invoke" ? invoked(run.input) : { from, input: model.latest?.state.input },
    ...(run.answers.length > 0 && from === "resume" && { answers: new Map(run.answers) }),
  };
  const changes: CheckpointChange[] = [];
  const add = (change: Parameters<ThreadModel["next"]>[0]): void => {
    changes.push(model.next({ ...change, ...opening }));
    opening = {};
  };
  if (run.recordStart) add({ status: "running" });
  for (const [key, value] of run.steps)
    if (!known.has(key)) add({ status: "running", settled: settled(key, value) });
  switch (run.end) {
    case "awaiting_input":
      add({ status: "awaiting_input", reasons: ["one?", "two?"] });
      break;
    case "interrupted":
      add({ status: "interrupted" });
      break;
    case "drained":
      add({ status: "interrupted", drained: { reason: "deploy", at: "2026-01-01T00:00:00.000Z" } });
      break;
    case "failed":
      add({ status: "failed", error: { name: "TypeError", message: "no" } });
      break;
    case "completed":
      add({ status: "completed", output: run.output === undefined ? {} : { value: run.output } });
      break;
    default:
  }
  return changes;
};

const written = async (acts: readonly (Run | { back: number; status: "running" | "failed" })[]) => {
  const log = createMemoryLog();
  const model = new ThreadModel("t");
  for (const act of acts) {
    // Now and then in another process, which has folded nothing yet.
    const checkpointer = logCheckpointer(log);
    if ("back" in act) {
      const kept = model.checkpoints.at(-1 - act.back);
      if (kept !== undefined) await checkpointer.put(plain(model.put({ ...kept, status: act.status })));
      continue;
    }
    const { latest, write } = await (checkpointer as unknown as ChangeCheckpointer)[OPEN_THREAD]("t");
    expect(plain(latest)).toEqual(model.latest);
    const changes = changesOf(model, act);
    if (act.together && changes.length > 0) await write(changes);
    else for (const change of changes) await write([change]);
  }
  return { log, model, events: await eventsOf(log, "t") };
};

const histories = fc.array(fc.oneof({ weight: 4, arbitrary: runs }, { weight: 1, arbitrary: puts }), {
  maxLength: 6,
});

describe("a thread's history", () => {
  test("holds the checkpoints that were written, whoever wrote them and however they gathered", async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (acts) => {
        const { log, model } = await written(acts);
        const history = await logCheckpointer(log).history("t", Number.POSITIVE_INFINITY);
        expect(history.map((one) => plain(one))).toEqual([...model.checkpoints].reverse());
        for (const { step } of model.checkpoints)
          expect(plain(await logCheckpointer(log).get("t", step))).toEqual(
            model.checkpoints.find((one) => one.step === step),
          );
      }),
      { numRuns: 60 },
    );
  });

  test("is the list of prefixes of the stream: each checkpoint is the last one of the fold up to its own fact", async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (acts) => {
        const { events } = await written(acts);
        const whole = foldThread(events);
        for (const place of whole.checkpoints) {
          const prefix = foldThread(events.slice(0, place.revision + 1)).checkpoints.at(-1);
          expect(plain(viewCheckpoint("t", place))).toEqual(plain(viewCheckpoint("t", prefix!)));
        }
      }),
      { numRuns: 60 },
    );
  });

  test("F2 folds a prefix and then the rest as it folds all, and the rest alters no checkpoint of the prefix", async () => {
    await fc.assert(
      fc.asyncProperty(histories, fc.double({ min: 0, max: 1, noNaN: true }), async (acts, at) => {
        const { events } = await written(acts);
        const cut = Math.floor(events.length * at);
        const state = emptyThread();
        const fold = (part: readonly ThreadEvent[]): void => {
          for (const event of part) evolveThread(state, event, state.revision + 1);
        };
        fold(events.slice(0, cut));
        const before = [...state.checkpoints];
        const seen = before.map((place) => plain(viewCheckpoint("t", place)));
        fold(events.slice(cut));
        expect(state).toEqual(foldThread(events));
        expect(before.map((place) => plain(viewCheckpoint("t", place)))).toEqual(seen);
        expect(state.checkpoints.map(({ step }) => step)).toEqual(
          [...new Set(state.checkpoints.map(({ step }) => step))].sort((a, b) => a - b),
        );
      }),
      { numRuns: 60 },
    );
  });
});
