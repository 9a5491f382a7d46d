/**
 * A worker that dies at any call of its store, before or after the call took effect, and leaves no word: the next delivery, on a worker
 * of its own, comes to the same end with the same keys as a run that nobody interrupted, and runs nothing again that had settled.
 *
 * Every call of a body is tried, on the journal over a log (where the call is the log's), and on a journal that somebody else wrote.
 */
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createJournal } from "../../src/engine/journal/create-journal.ts";
import type { JournalStore, RunRecord } from "../../src/engine/journal-store.ts";
import { createMemoryStreams } from "../../src/engine/progress-streams.ts";
import { createWorkflowEngine } from "../../src/engine/workflow-engine.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { createReferenceJournal } from "../reference-journal/reference-journal.ts";
import { runProgram } from "../simulation/body.ts";
import { arbitraryProgram, type Program } from "../simulation/program.ts";
import { createRandom } from "../simulation/random.ts";

interface Death {
  /** The call at which the worker dies, counted from 0. */
  readonly call: number;
  readonly took: "no effect" | "effect";
}

/** A worker's way to the store, until it dies on it. */
interface Connection {
  readonly journal: JournalStore;
  readonly died: Promise<"died">;
  readonly calls: () => number;
}

interface Store {
  readonly connect: (death: Death | undefined) => Connection;
  /** Reads past every connection. */
  readonly truth: JournalStore;
}

const forever = new Promise<never>(() => {});

const mortal = (death: Death | undefined) => {
  let calls = 0;
  let dead = false;
  let die: (how: "died") => void = () => {};
  const died = new Promise<"died">((resolve) => {
    die = resolve;
  });
  const call = async <T>(work: () => Promise<T>): Promise<T> => {
    if (dead) return forever;
    const now = calls++;
    if (now !== death?.call) return work();
    dead = true;
    if (death.took === "effect") await work();
    die("died");
    return forever;
  };
  return { call, died, calls: () => calls };
};

const listed = async <T>(source: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const one of source) all.push(one);
  return all;
};

const noIndex = (): never => expect.fail("nothing is listed here");

const overALog = (): Store => {
  const log = createMemoryLog();
  return {
    truth: createJournal(log, { index: noIndex }),
    connect: (death) => {
      const { call, ...rest } = mortal(death);
      const journal = createJournal(
        {
          ...log,
          append:
            (...args) =>
            async () =>
              call(() => log.append(...args)()),
          async *read(...args) {
            yield* await call(() => listed(log.read(...args)));
          },
        },
        { index: noIndex },
      );
      return { journal, ...rest };
    },
  };
};

const bySomebodyElse = (): Store => {
  const truth = createReferenceJournal();
  return {
    truth,
    connect: (death) => {
      const { call, ...rest } = mortal(death);
      const guarded = Object.entries(truth).map(([name, method]) => [
        name,
        (...args: unknown[]) => call(() => (method as (...args: unknown[]) => Promise<unknown>)(...args)),
      ]);
      return { journal: Object.fromEntries(guarded) as JournalStore, ...rest };
    },
  };
};

let time = 0;
afterEach(() => {
  vi.restoreAllMocks();
});

const RUN = "r";

/** Tokens that a determinate program may wait for; a signal to one that nobody waits for is refused, and harmless. */
const tokensOf = (program: Program): string[] =>
  [...JSON.stringify(program).matchAll(/"site":"([^"]+)"/g)].flatMap(([, site]) =>
    [0, 1, 2, 3, 4, 5, 6, 7].map((n) => `${RUN}/${site}/${n}`),
  );

interface Life {
  readonly record: RunRecord;
  readonly keys: readonly string[];
  readonly calls: number;
}

const live = async (makeStore: () => Store, program: Program, death?: Death): Promise<Life> => {
  time = 1_767_225_600_000;
  const store = makeStore();
  const settled = new Set<string>();
  let calls = 0;
  let dying = death;
  let ended = false;
  for (let deliveries = 0; !ended; deliveries += 1) {
    expect(deliveries, "the run comes to no end").toBeLessThan(300);
    const connection = store.connect(dying);
    const engine = createWorkflowEngine({
      workflows: {
        generated: {
          run: (_, ctx) =>
            runProgram(program, ctx, {
              bodyStarts: (key) => expect(settled, "a settled step is run again").not.toContain(key),
              pause: () => Promise.resolve(),
              saw: () => {},
              troubled: () => {},
            }),
        },
      },
      journal: connection.journal,
      streams: createMemoryStreams(),
      newRunId: () => RUN,
      dispatch: () => {},
    });
    /** What a driver does for a run, until it ends or its worker dies. */
    const drive = async (): Promise<"ended"> => {
      if ((await store.truth.getRun(RUN)) === undefined) await engine.start("generated", [{}]);
      for (let round = 0; round < 200; round += 1) {
        const status = await engine.execute(RUN);
        if (status !== "pending" && status !== "running") return "ended";
        for (const token of tokensOf(program)) await engine.signal(token, { token });
        const ahead = (await store.truth.readSleeps(RUN)).filter(({ wakeAt }) => wakeAt > time);
        time = ahead.length > 0 ? Math.min(...ahead.map(({ wakeAt }) => wakeAt)) : time + 1_000;
      }
      return expect.fail("the run comes to no end");
    };
    const end = await Promise.race([drive(), connection.died]);
    calls = connection.calls();
    ended = end === "ended";
    dying = undefined;
    for (const { key } of await store.truth.readSteps(RUN)) settled.add(key);
  }
  return { record: (await store.truth.getRun(RUN))!, keys: [...settled].sort(), calls };
};

const outcome = ({ status, output, error }: RunRecord) => ({
  status,
  answer: (output as { answer: string } | undefined)?.answer,
  error: error?.message,
});

/** A determinate program: whatever the order of events, it has one answer. A step with a budget of one would be abandoned by one death. */
const programs = fc.nat().map((seed) => {
  const random = createRandom(seed);
  for (;;) {
    const program = arbitraryProgram(random, 1 + random.int(6));
    if (program.determinate && !JSON.stringify(program).includes('"maxAttempts":1,')) return program;
  }
});

describe.each([
  ["a log", overALog],
  ["a journal of somebody else's", bySomebodyElse],
] as const)("on %s", (_, makeStore) => {
  test("a worker may die at any call, and the next one comes to the same end with the same keys", async () => {
    vi.spyOn(Date, "now").mockImplementation(() => time);
    let deaths = 0;
    await fc.assert(
      fc.asyncProperty(programs, async (program) => {
        const whole = await live(makeStore, program);
        for (let call = 0; call < Math.min(whole.calls, 60); call += 1) {
          for (const took of ["no effect", "effect"] as const) {
            const { record, keys } = await live(makeStore, program, { call, took });
            expect(outcome(record), `after a death at call ${call}, with ${took}`).toEqual(
              outcome(whole.record),
            );
            expect(keys).toEqual(whole.keys);
            deaths += 1;
          }
        }
      }),
      { numRuns: 20 },
    );
    expect(deaths).toBeGreaterThan(100);
  }, 60_000);
});
