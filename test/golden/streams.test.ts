/**
 * Streams recorded by released versions, replayed for ever: each folds to the outcome it had, and a walk of it comes to that outcome
 * again without running a step and without recording anything but the end.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  createJournal,
  createMemoryStreams,
  createWorkflowEngine,
  openRunIndex,
  type RecordedEvent,
  type WorkflowContext,
  type WorkflowDef,
} from "../../src/index.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { goldenWorkflows } from "./workflows.ts";

interface Golden {
  readonly workflow: keyof typeof goldenWorkflows;
  readonly runId: string;
  readonly outcome: { readonly status: string; readonly output: unknown; readonly error: string | null };
  readonly events: readonly RecordedEvent[];
}

const here = import.meta.dirname;
const files = readdirSync(here)
  .filter((name) => /^v\d+$/.test(name))
  .flatMap((version) =>
    readdirSync(join(here, version, "streams")).map((file) => join(version, "streams", file)),
  );

const ENDS = ["RunCompleted", "RunFailed", "RunCancelled"];

/** The workflow with bodies that must not run any more: what they did is in the stream. */
const replayed = ({ run }: WorkflowDef): WorkflowDef => ({
  run: (input, ctx) =>
    run(input, {
      ...ctx,
      step: ((name: never) =>
        ctx.step(name, () => {
          throw new Error(`step ${String(name)} ran again`);
        })) as WorkflowContext["step"],
    }),
});

const engineOn = async (events: readonly RecordedEvent[]) => {
  const log = createMemoryLog();
  for (const event of events) await log.append(event.stream, "any", [event])();
  // The clock stands where the recording ended: a deadline that was ahead then is ahead now.
  const clock = (): number => events.at(-1)?.recordedAt ?? 0;
  const journal = createJournal(log, { index: () => openRunIndex(log), clock });
  const workflows = Object.fromEntries(
    Object.entries(goldenWorkflows).map(([name, def]) => [name, replayed(def)]),
  );
  const engine = createWorkflowEngine({
    workflows,
    journal,
    streams: createMemoryStreams(),
    dispatch: () => {},
    clock,
  });
  return { log, engine };
};

describe.each(files)("golden stream %s", (file) => {
  const golden = JSON.parse(readFileSync(join(here, file), "utf8")) as Golden;
  const outcomeOf = async (engine: Awaited<ReturnType<typeof engineOn>>["engine"]) => {
    const record = await engine.getRun(golden.runId);
    return { status: record?.status, output: record?.output ?? null, error: record?.error?.message ?? null };
  };

  it("folds to the outcome it had", async () => {
    const { engine } = await engineOn(golden.events);
    expect(await outcomeOf(engine)).toEqual(golden.outcome);
  });

  it.runIf(golden.outcome.status !== "cancelled")(
    "walks to the same end without running a step",
    async () => {
      const open = golden.events.filter(({ type }) => !ENDS.includes(type));
      const { log, engine } = await engineOn(open);
      expect(await engine.execute(golden.runId)).toBe(golden.outcome.status);
      expect(await outcomeOf(engine)).toEqual(golden.outcome);
      const added: RecordedEvent[] = [];
      for await (const event of log.read(`run-${golden.runId}`)) added.push(event);
      const ended = golden.events.filter(({ type }) => ENDS.includes(type));
      const before = open.filter(({ stream }) => stream.startsWith("run-")).length;
      expect(
        added.slice(before).map(({ type, data }) => ({ type, output: data.output, error: data.error })),
      ).toEqual(ended.map(({ type, data }) => ({ type, output: data.output, error: data.error })));
    },
  );
});
