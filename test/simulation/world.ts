/**
 * A simulated world: several workers over one log, a queue of deliveries that may go wrong in every way, an operator, clocks that jump,
 * and one seed from which all of it follows.
 *
 * A history has two parts. First anything may happen. Then faults end, dead workers come back and deliveries flow, until every run has
 * ended: a run that does not is stuck. What must hold while it runs is checked where it happens (here, ledger.ts), and what must hold
 * of the whole in verdict.ts.
 */
import { RejectionError } from "../../src/engine/rejection-error.ts";
import { StoreError } from "../../src/events/store-error.ts";
import { isTerminal } from "../../src/projections/run-state.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { runProgram } from "./body.ts";
import { type History, type Ordered, orderRun, type SignalCall } from "./history.ts";
import { createLedger, type RunFacts } from "./ledger.ts";
import { arbitraryProgram, type Program, withCarelessness, withOptimism } from "./program.ts";
import { createRandom } from "./random.ts";
import { createScheduler } from "./scheduler.ts";
import { CARELESS_SEEDS, OPTIMISTIC_SEEDS } from "./seeds.ts";
import type { Surroundings } from "./surroundings.ts";
import { Violation } from "./violation.ts";
import { drawWeather, roughened } from "./weather.ts";
import { witnessWalk } from "./witness.ts";
import { createWorker, type Worker } from "./worker.ts";

export interface WorldOptions {
  readonly seed: number;
  readonly surroundings?: Surroundings;
  readonly trace?: (line: string) => void;
}

interface Delivery {
  readonly run: Ordered;
  readonly worker: Worker;
}

interface Message {
  readonly runId: string;
  readonly at: number;
}

const START = 1_767_225_600_000;
const MAX_SKEW = 10 * 60_000;
const TURNS = 400;
const LAST_TURN = 20_000;

const asDrawn = (program: Program): Program => program;

/** Lives through one history. Throws {@link Violation} as soon as a law is broken. */
export const liveThrough = async ({
  seed,
  surroundings = {},
  trace = () => {},
}: WorldOptions): Promise<History> => {
  const random = createRandom(seed);
  /** Deliveries as the pipeline makes them, which knows the event that asked; in the other worlds, of somebody who knows the run alone. */
  const careless = seed >= CARELESS_SEEDS;
  const fromTriggers = careless ? seed % 4 !== 0 : seed % 2 === 0;
  const written = careless ? withCarelessness : seed >= OPTIMISTIC_SEEDS ? withOptimism : asDrawn;
  const scheduler = createScheduler();
  const ledger = createLedger();
  const drawn = drawWeather(random);
  const weather = careless ? roughened(drawn) : drawn;
  const { faults } = weather;
  const inner = createMemoryLog({ clock: () => time });
  const workers: Worker[] = [];
  const queue: Message[] = [];
  const deliveries = new Set<Delivery>();
  const signals: SignalCall[] = [];
  let time = START;
  let violation: unknown;
  let crashesLeft = 4;
  let calls = 0;
  let nextId = "";
  let born = 0;

  const fail = (error: unknown): void => {
    violation ??= error;
  };
  const runs: Ordered[] = Array.from({ length: random.pick([1, 1, 2, 3]) }, (_, index) =>
    orderRun(`r${index}`, written(arbitraryProgram(random, random.pick([2, 4, 8, 14])))),
  );
  const ordered = new Map(runs.map((run) => [run.runId, run]));

  const disturb = (stream: string): void => {
    for (const run of runs)
      if (stream === `run-${run.runId}` || stream.startsWith(`hook-${run.runId}/`)) run.disturbed = true;
  };

  const enqueue = (runId: string, at = 0): void => {
    if (random.chance(weather.loss)) trace(`delivery of ${runId} is lost`);
    else queue.push({ runId, at });
  };

  const bear = (): Worker => {
    const worker = createWorker({
      name: `w${born++}`,
      surroundings,
      connection: {
        inner,
        ledger,
        scheduler,
        random,
        faults,
        prompt: surroundings.prompt === true,
        trace,
        onFault: disturb,
        onViolation: fail,
      },
      stepConcurrency: weather.stepConcurrency,
      skew: weather.calm ? 0 : random.int(MAX_SKEW) - MAX_SKEW / 2,
      time: () => time,
      newRunId: () => nextId,
      body: (ctx, owner) => {
        const run = ordered.get(ctx.runId)!;
        const facts = ledger.runs.get(ctx.runId)!;
        trace(`${owner.name} walks ${ctx.runId}`);
        return runProgram(run.program, ctx, witnessWalk({ run, facts, owner, scheduler, trace, fail }));
      },
      dispatch: (runId, at) => {
        if (at !== undefined && random.chance(weather.loss))
          throw new StoreError("The queue is away.", { _tag: "Unavailable", reason: "queue" });
        enqueue(runId, at);
      },
    });
    workers.push(worker);
    return worker;
  };

  const living = (): Worker[] => workers.filter(({ alive }) => alive);
  const isOver = (run: Ordered): boolean => {
    const state = ledger.runs.get(run.runId)?.state;
    return state !== undefined && isTerminal(state.status);
  };

  const crash = (worker: Worker): void => {
    trace(`${worker.name} dies`);
    crashesLeft -= 1;
    worker.alive = false;
    for (const orphan of scheduler.bury(worker)) if (random.chance(0.3)) orphan();
    for (const run of runs) run.disturbed = true;
    for (const delivery of deliveries) if (delivery.worker === worker) deliveries.delete(delivery);
  };

  const call = (worker: Worker, what: string, work: () => Promise<void>): void => {
    trace(`${worker.name} ${what}`);
    work().catch((error: unknown) => {
      trace(`${worker.name} ${what} fails: ${String(error)}`);
      if (!StoreError.is(error))
        fail(error instanceof Violation ? error : new Violation("no surprise", `${what}: ${String(error)}`));
    });
  };

  const start = (run: Ordered): void => {
    const id = ++calls;
    nextId = run.runId;
    const worker = random.pick(living());
    call(worker, `starts ${run.runId} (${id})`, async () => {
      try {
        await worker.engine.start("generated", [{ id }]);
        run.started.push(id);
      } catch (error) {
        if (!RejectionError.is(error, "RunExists")) throw error;
        run.refused.push(id);
      }
    });
  };

  const deliver = ({ runId }: { readonly runId: string }): void => {
    const run = ordered.get(runId)!;
    const worker = random.pick(living());
    for (const other of deliveries) if (other.run === run) run.disturbed = true;
    const delivery: Delivery = { run, worker };
    deliveries.add(delivery);
    const revision = ledger.runs.get(runId)?.state.revision ?? -1;
    trace(`${worker.name} takes a delivery of ${runId}`);
    const reaching = fromTriggers ? ledger.runs.get(runId)?.lastTrigger : undefined;
    worker.engine.execute(runId, undefined, reaching).then(
      (status) => {
        deliveries.delete(delivery);
        run.delivered = Math.max(run.delivered, revision);
        trace(`${worker.name} delivered ${runId}: ${status}`);
        if (status === undefined || !isTerminal(status)) return;
        run.answers.add(status);
        const stands = ledger.runs.get(runId)?.state.status;
        if (status !== stands)
          fail(new Violation("L4", `a delivery of ${runId} answers ${status}, and the log says ${stands}`));
      },
      (error: unknown) => {
        deliveries.delete(delivery);
        trace(`${worker.name} fails to deliver ${runId}: ${String(error)}`);
        run.disturbed = true;
        if (!StoreError.is(error))
          fail(new Violation("L9", `a delivery of ${runId} rejects: ${String(error)}`));
      },
    );
  };

  /** Is the run owed a delivery, by what the log says? */
  const isOwed = (run: Ordered): boolean => {
    const facts = ledger.runs.get(run.runId);
    if (facts === undefined || isOver(run)) return false;
    return facts.lastTrigger > run.delivered || dueAt(facts) <= time;
  };
  const dueAt = ({ state }: RunFacts): number =>
    Math.min(
      ...[...state.sleeps.values()].filter(({ over }) => over === undefined).map(({ wakeAt }) => wakeAt),
    );

  const sweep = (): void => {
    for (const run of runs) {
      if (isOwed(run) && !queue.some(({ runId }) => runId === run.runId))
        queue.push({ runId: run.runId, at: 0 });
    }
  };

  const signal = (token: string): void => {
    const worker = random.pick(living());
    const one: SignalCall = { token, id: ++calls, answer: "unknown" };
    signals.push(one);
    call(worker, `signals ${token} (${one.id})`, async () => {
      one.answer = await worker.engine.signal(token, { signal: one.id });
      trace(`signal ${one.id} is ${one.answer ? "accepted" : "refused"}`);
    });
  };

  const openTokens = (): string[] =>
    runs.flatMap((run) =>
      isOver(run)
        ? []
        : [...(ledger.runs.get(run.runId)?.state.hooks.values() ?? [])].flatMap(({ status, token }) =>
            status === "open" ? [token] : [],
          ),
    );

  const operate = (): void => {
    const run = random.pick(runs);
    const worker = random.pick(living());
    switch (random.weighted([4, 2, weather.cancels ? 0.7 : 0, 0.5])) {
      case 0: {
        const known = random.chance(0.8)
          ? openTokens()
          : [...ledger.tokens.keys()].map((stream) => stream.slice("hook-".length));
        return signal(known.length > 0 ? random.pick(known) : `${run.runId}/a/0`);
      }
      case 1: {
        const ids = random.pick([undefined, ["one"], ["two", "none"]]);
        return call(worker, `wakes ${run.runId} ${ids ?? ""}`, async () => {
          run.wakesUnheard += 1;
          const woken = await worker.engine.wakeUp(run.runId, ids);
          run.woken += woken;
          run.wakesUnheard -= 1;
        });
      }
      case 2:
        return call(worker, `cancels ${run.runId}`, async () => {
          run.cancelsUnheard += 1;
          if (await worker.engine.cancel(run.runId)) run.cancelled += 1;
          run.cancelsUnheard -= 1;
        });
      default:
        return call(worker, `reads ${run.runId}`, async () => {
          await worker.engine.getRun(run.runId);
        });
    }
  };

  const moveClock = (): void => {
    if (random.chance(0.3) && weather.jumpy > 0) {
      const worker = random.pick(workers);
      worker.skew = random.int(MAX_SKEW) - MAX_SKEW / 2;
      return;
    }
    time += random.pick([1, 1, 50, 1000, 60_000, 600_000, ...(weather.jumpy > 0 ? [2 * 3_600_000] : [])]);
  };

  const deliverable = (): number[] =>
    queue.flatMap(({ at }, index) => (at <= time || random.chance(0.02) ? [index] : []));

  /** One thing happens, of all that can. */
  const act = (): void => {
    const ready = deliverable();
    const dead = workers.length - living().length;
    const unstarted = runs.filter((run) => !ledger.runs.has(run.runId) || random.chance(0.03));
    switch (
      random.weighted([
        scheduler.waiting.length > 0 ? 20 : 0,
        ready.length > 0 ? 4 : 0,
        unstarted.length > 0 ? 2 : 0,
        weather.busyOperator,
        1,
        crashesLeft > 0 && living().length > 0 ? weather.crashes : 0,
        dead > 0 ? 1 : 0,
        0.5,
      ])
    ) {
      case 0: {
        const { what, owner } = scheduler.choose(random.int(scheduler.waiting.length));
        return trace(`  ${owner?.name ?? "-"} ${what}`);
      }
      case 1: {
        const index = random.pick(ready);
        const message = queue[index]!;
        if (!random.chance(weather.duplication)) queue.splice(index, 1);
        return deliver(message);
      }
      case 2:
        return start(random.pick(unstarted));
      case 3:
        return operate();
      case 4:
        return moveClock();
      case 5: {
        const victim = random.pick(living());
        crash(victim);
        if (living().length === 0) bear();
        return;
      }
      case 6:
        if (living().length < 3) bear();
        return;
      default:
        return sweep();
    }
  };

  /** Faults are over; what can go on goes on. Answers whether anything could. */
  const settle = (): boolean => {
    if (scheduler.waiting.length > 0) {
      const { what, owner } = scheduler.choose(random.int(scheduler.waiting.length));
      trace(`  ${owner?.name ?? "-"} ${what}`);
      return true;
    }
    const hanging = [...deliveries][0];
    if (hanging !== undefined) {
      throw new Violation(
        "no delivery hangs",
        `${hanging.worker.name} never ends its delivery of ${hanging.run.runId}`,
      );
    }
    const missing = runs.find((run) => !ledger.runs.has(run.runId));
    if (missing !== undefined) {
      start(missing);
      return true;
    }
    const owed = runs.find(isOwed);
    if (owed !== undefined) {
      deliver(owed);
      return true;
    }
    const alive = runs.filter((run) => !isOver(run));
    const due = Math.min(...alive.map((run) => dueAt(ledger.runs.get(run.runId)!)));
    const token = openTokens()[0];
    if (due < Number.POSITIVE_INFINITY && (token === undefined || random.chance(0.5))) {
      time = Math.max(time, due);
      return true;
    }
    if (token !== undefined) {
      signal(token);
      return true;
    }
    if (alive[0] !== undefined)
      throw new Violation(
        "no run is stuck",
        `${alive[0].runId} is owed nothing, waits for nothing and has not ended`,
      );
    return false;
  };

  const mathRandom = Math.random;
  Math.random = random.next;
  try {
    for (let worker = 1 + random.int(3); worker > 0; worker -= 1) bear();
    let turns = 0;
    const pass = async (): Promise<void> => {
      turns += 1;
      await scheduler.quiet();
      if (violation !== undefined) throw violation;
    };
    while (turns < TURNS) {
      await pass();
      if (runs.every(isOver) && scheduler.waiting.length === 0 && random.chance(0.1)) break;
      act();
    }
    trace("the storm is over");
    Object.assign(faults, { append: 0, read: 0, slow: 0 });
    weather.loss = 0;
    for (const worker of workers) worker.skew = 0;
    do {
      await pass();
      if (turns > LAST_TURN) throw new Violation("every run ends", "the history does not come to an end");
    } while (settle());
    await pass();
    return { ledger, runs, signals, scheduler, turns };
  } finally {
    Math.random = mathRandom;
  }
};
