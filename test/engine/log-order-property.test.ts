/**
 * L1, on bodies nobody wrote by hand: whatever a live run was told, in whatever order, with signals in the middle of steps and two workers
 * on one log, every later walk over the stream or over a prefix of it is told the same in the same order.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMemoryStreams } from "../../src/engine/progress-streams.ts";
import { createWorkflowEngine } from "../../src/engine/workflow-engine.ts";
import { StoreError } from "../../src/events/store-error.ts";
import { createFaultLog, UNAVAILABLE } from "./fault-log.ts";
import { interpret, type Program, programs, type Surroundings, tokensOf } from "./log-order-programs.ts";
import { logOf, openPrefixes, streamOf, unanswering, workerOn } from "./log-order-replay.ts";
import { type Ctx, soon, turns } from "./scene.ts";

const unhandled: unknown[] = [];
const remember = (error: unknown): void => {
  unhandled.push(error);
};
beforeAll(() => process.on("unhandledRejection", remember));
afterAll(() => process.off("unhandledRejection", remember));

/** Draws from a list of numbers that fast-check made, and so can shrink. */
const dice = (rolls: readonly number[]) => {
  let rolled = 0;
  return (sides: number): number => (rolls[rolled++ % rolls.length] ?? 0) % sides;
};

interface Outcome {
  readonly result: string;
  readonly trace: string[];
}

const START = 1_000_000;

/** A store that fails may reject what is asked of it; nothing else may. */
const exceptTrouble = (error: unknown): undefined => {
  if (!StoreError.is(error)) throw error;
};

const engineOn = (
  journal: ReturnType<typeof workerOn>,
  clock: () => number,
  run: (ctx: Ctx) => Promise<unknown>,
) =>
  createWorkflowEngine({
    workflows: { job: { run: (_input: unknown, ctx: unknown) => run(ctx as Ctx) } },
    journal,
    streams: createMemoryStreams(),
    dispatch: () => {},
    clock,
    newRunId: () => "run",
  });

interface World {
  readonly workers: number;
  /** One append in this many fails, or leaves its outcome open; 0: none does. */
  readonly faults: number;
}

/** Runs `program` live to its end, and answers its stream and what the walk that ended it was told. */
const live = async (program: Program, rolls: readonly number[], { workers, faults }: World) => {
  let now = START;
  const clock = (): number => now;
  const log = createFaultLog();
  const roll = dice(rolls);
  const tokens = tokensOf(program, "run");
  log.fault = () => {
    if (faults === 0 || roll(faults) !== 0) return undefined;
    return [{ refuse: UNAVAILABLE }, { unknown: "written" as const }, { unknown: "lost" as const }][roll(3)];
  };
  const meddle = async (): Promise<void> => {
    const engine = engines[roll(engines.length)];
    const token = tokens[roll(Math.max(tokens.length, 1))];
    if (roll(3) === 0 && token !== undefined) await engine?.signal(token, { by: roll(5) });
    if (roll(4) === 0) now += roll(12);
    if (roll(6) === 0) await engine?.wakeUp("run");
  };
  const meddling = (): Promise<void> => meddle().catch(exceptTrouble);
  const around: Surroundings = {
    hops: () => roll(4),
    decoding: () => roll(3),
    meanwhile: () => (roll(2) === 0 ? meddling() : void meddling()),
  };
  const journals = Array.from({ length: workers }, () => workerOn(log, clock));
  const engines = journals.map((journal) =>
    engineOn(journal, clock, async (ctx): Promise<Outcome> => {
      const trace: string[] = [];
      const result = await interpret(program, ctx, trace, around);
      return { result, trace: [...trace] };
    }),
  );
  while ((await engines[0]?.start("job", [{}]).catch(exceptTrouble)) === undefined);
  const first = engines[0];
  for (let round = 0; ; round += 1) {
    if (round > 60) throw new Error("the run does not end");
    const deliveries = engines.filter((_, index) => index === 0 || roll(2) === 0);
    const walks = deliveries.map((engine) => engine.execute("run").catch(exceptTrouble));
    for (let times = roll(4); times > 0; times -= 1) {
      await turns(roll(3));
      await meddling();
    }
    const statuses = await soon(Promise.all(walks), "a delivery", 2_000);
    if (statuses.includes("completed") || statuses.includes("failed")) break;
    now += 10;
    if (round > 10) now += 500;
    // The rolls come round again and again: a log that always fails at the same place would never let the run end.
    if (round > 20) log.fault = () => undefined;
    if (round > 10) for (const token of tokens) await first?.signal(token, "at last").catch(exceptTrouble);
  }
  log.fault = () => undefined;
  await turns(20);
  for (const journal of journals) expect(journal.sessions.get("run").idle, "a session is let go").toBe(true);
  const record = await first?.getRun("run");
  return { record, events: await streamOf(log, "run") };
};

/** What a walk over these events is told before it needs anything that is not recorded. */
const replay = async (
  program: Program,
  events: Awaited<ReturnType<typeof streamOf>>,
  rolls: readonly number[],
): Promise<string[]> => {
  const roll = dice(rolls);
  let told: string[] = [];
  const clock = (): number => 0;
  const journal = workerOn(unanswering(await logOf(events)), clock);
  const around = { hops: () => roll(5), decoding: () => roll(3), meanwhile: () => {} };
  const engine = engineOn(journal, clock, async (ctx) => {
    const trace: string[] = [];
    told = trace;
    await interpret(program, ctx, trace, around);
    told = [...trace];
  });
  let ended = false;
  void engine.execute("run").then(() => {
    ended = true;
  });
  for (let known = -1, still = 0; !ended && still < 3; known = told.length) {
    await turns(4);
    still = told.length === known ? still + 1 : 0;
  }
  // A determinism read that is not recorded is told before the log has it: that is where this walk begins to be its own.
  const recorded = new Set(events.map(({ data }) => JSON.stringify(data.output)));
  const own = told.findIndex((line) => line.startsWith("read ") && !recorded.has(line.split(" = ")[1] ?? ""));
  return own === -1 ? [...told] : told.slice(0, own);
};

const check = async (program: Program, rolls: readonly number[], world: World): Promise<void> => {
  const { record, events } = await live(program, rolls, world);
  if (record === undefined) throw new Error("the run is gone");
  expect(record.error).toBe(undefined);
  const { trace } = record.output as Outcome;
  let told: string[] = [];
  for (const prefix of openPrefixes(events)) {
    const longer = await replay(program, prefix, rolls.slice(prefix.length % 5));
    expect(longer.slice(0, told.length), `what ${prefix.length} events tell`).toEqual(told);
    told = longer;
  }
  expect(told).toEqual(trace);
};

const rolls = fc.array(fc.nat(1_000), { minLength: 20, maxLength: 60 });

test.each([
  ["one worker", { workers: 1, faults: 0 }],
  ["two workers on one log", { workers: 2, faults: 0 }],
  ["two workers on a log that fails now and then", { workers: 2, faults: 9 }],
])(
  "%s: the walk that ended the run, and every replay of every prefix of it, are told the same in the same order",
  async (_, world) => {
    await fc.assert(
      fc.asyncProperty(programs, rolls, (program, drawn) => check(program, drawn, world)),
      { numRuns: Number(process.env.LOG_ORDER_RUNS ?? 80) },
    );
    expect(unhandled).toEqual([]);
  },
  60_000,
);
