import { NEVER, Observable, of, Subject, type Subscription, throwError, timer } from "rxjs";
import { map, mergeMap } from "rxjs/operators";
import { TestScheduler } from "rxjs/testing";
import { describe, expect, test } from "vitest";
import type { Consumed, Position, RecordedEvent } from "../events/event-log.ts";
import { FIRST_RETRY_MS, LONGEST_RETRY_MS, type PipelineOptions, STANDING, walks } from "./pipeline.ts";

const RUNS = { a: "run-a", b: "run-b", c: "run-c", x: "other" };

/** A delivery that writes its answers into `answers`. */
const delivery = (stream: string, redeliveries = 0, answers: string[] = [], name = stream): Consumed => ({
  event: { stream, position: "1" as Position } as RecordedEvent,
  redeliveries,
  ack: () => answers.push(`ack ${name}`),
  nack: (action, _reason, delayMs) => answers.push(`${action} ${name} in ${delayMs}`),
});

const runOf = ({ event }: Consumed): string | undefined =>
  event.stream.startsWith("run-") ? event.stream.slice(4) : undefined;

const options = (given: Partial<PipelineOptions>): PipelineOptions => ({
  runOf,
  walk: () => of(undefined),
  concurrency: 100,
  failed: () => {},
  draining: () => false,
  ...given,
});

/**
 * Runs the pipeline over the marbles `source` (one letter a run) in virtual time. `lasts` is how many frames a walk of a run takes.
 * Answers a line per fact: `3 begin a`, `7 end a`, `7 ack a`.
 */
const story = (
  source: string,
  lasts: number | ((runId: string, walk: number) => number | Error),
  given: Partial<PipelineOptions> = {},
): { lines: string[]; completed: boolean; error: unknown } => {
  const scheduler = new TestScheduler(() => {});
  const lines: string[] = [];
  let completed = false;
  let failure: unknown;
  scheduler.run(({ hot }) => {
    const say = (what: string): void => void lines.push(`${scheduler.now()} ${what}`);
    const walked = new Map<string, number>();
    const walk = (runId: string): Observable<unknown> => {
      const count = (walked.get(runId) ?? 0) + 1;
      walked.set(runId, count);
      const frames = typeof lasts === "number" ? lasts : lasts(runId, count);
      say(`begin ${runId}`);
      if (frames instanceof Error) return throwError(() => frames);
      return timer(frames).pipe(map(() => say(`end ${runId}`)));
    };
    const deliveries = hot(source, RUNS).pipe(
      map((stream) => {
        const answers: string[] = [];
        const made = delivery(stream, 0, answers);
        return {
          ...made,
          ack: () => say(`ack ${stream.replace("run-", "")}`),
          nack: (action: string, reason: string, delayMs?: number) =>
            say(`${action} ${stream.replace("run-", "")} in ${delayMs}: ${reason}`),
        } as Consumed;
      }),
    );
    walks(deliveries, options({ walk, ...given })).subscribe({
      error: (error) => {
        failure = error;
      },
      complete: () => {
        completed = true;
      },
    });
  });
  return { lines, completed, error: failure };
};

describe("the delivery pipeline in virtual time", () => {
  test("Q1 Q2 one run: deliveries of a walk under way become one walk after it, and each is acked by the walk that covers it", () => {
    const { lines, completed } = story("a-aa---|", 5);
    expect(lines).toEqual([
      "0 begin a",
      "5 end a",
      "5 ack a",
      "5 begin a",
      "10 end a",
      "10 ack a",
      "10 ack a",
    ]);
    expect(completed).toBe(true);
  });

  test("Q1 walks of different runs overlap; walks of one run never do", () => {
    const { lines } = story("(ab)(ab)---|", 8);
    expect(lines).toEqual([
      ...["0 begin a", "0 begin b"],
      ...["8 end a", "8 ack a", "8 begin a", "8 end b", "8 ack b", "8 begin b"],
      ...["16 end a", "16 ack a", "16 end b", "16 ack b"],
    ]);
  });

  test("at most `concurrency` walks at once, and the waiting runs keep their order", () => {
    const { lines } = story("(abc)|", 3, { concurrency: 2 });
    expect(lines.filter((line) => !line.includes("ack"))).toEqual([
      ...["0 begin a", "0 begin b"],
      ...["3 end a", "3 begin c", "3 end b", "6 end c"],
    ]);
  });

  test("Q2 a delivery that arrives in the very frame of a walk's end gets a walk of its own", () => {
    const { lines } = story("a----a|", 5);
    expect(lines.filter((line) => line.includes("begin"))).toEqual(["0 begin a", "5 begin a"]);
  });

  test("Q2 a delivery that waits for a place is covered by the walk that begins after it", () => {
    const { lines } = story("(ab)b--|", 4, { concurrency: 1 });
    expect(lines).toEqual([
      ...["0 begin a", "4 end a", "4 ack a"],
      ...["4 begin b", "8 end b", "8 ack b", "8 ack b"],
    ]);
  });

  test("Q3 a failed walk hands its delivery back and ends neither its run nor the pipeline", () => {
    const failures: string[] = [];
    const { lines, completed, error } = story(
      "a-b-a|",
      (runId, walk) => (runId === "a" && walk === 1 ? new Error("boom") : 2),
      {
        failed: (runId, cause) => failures.push(`${runId}: ${(cause as Error).message}`),
      },
    );
    expect(lines).toEqual([
      ...["0 begin a", `0 retry a in ${FIRST_RETRY_MS}: boom`],
      ...["2 begin b", "4 begin a", "4 end b", "4 ack b", "6 end a", "6 ack a"],
    ]);
    expect(failures).toEqual(["a: boom"]);
    expect({ completed, error }).toEqual({ completed: true, error: undefined });
  });

  test("Q3 a walk that throws instead of answering is a failed walk too", () => {
    const { lines, completed } = story("ab|", 1, {
      walk: () => {
        throw new Error("at once");
      },
    });
    expect(lines).toEqual([
      `0 retry a in ${FIRST_RETRY_MS}: at once`,
      `1 retry b in ${FIRST_RETRY_MS}: at once`,
    ]);
    expect(completed).toBe(true);
  });

  test("Q5 a run that is delivered all the time lets the others have their turn, with one place only", () => {
    const { lines } = story("(ab)aaaaaaaaaaaaaaa|", 3, { concurrency: 1 });
    expect(lines.filter((line) => line.includes("begin")).slice(0, 3)).toEqual([
      "0 begin a",
      "3 begin b",
      "6 begin a",
    ]);
  });

  test("a delivery about no run is acked and dropped", () => {
    const { lines } = story("xa|", 1);
    expect(lines).toEqual(["0 ack other", "1 begin a", "2 end a", "2 ack a"]);
  });

  test("the source's own error ends it, and walks under way are let go", () => {
    const { lines, error } = story("a-#", 5);
    expect(lines).toEqual(["0 begin a"]);
    expect(error).toBe("error");
  });

  test("draining: no further walk begins, the one under way is acked, what waits stays unanswered", () => {
    let draining = false;
    const { lines } = story("(ab)ab------|", (runId) => (runId === "a" ? 4 : 6), {
      concurrency: 1,
      draining: () => draining,
      failed: () => {},
      walk: (() => {
        const begun: string[] = [];
        return (runId: string) => {
          begun.push(runId);
          return timer(4).pipe(
            map(() => {
              draining = true;
              return begun;
            }),
          );
        };
      })(),
    });
    expect(lines).toEqual(["4 ack a"]);
  });

  test("draining: a walk that fails then leaves its delivery unanswered, to be handed to others", () => {
    let draining = false;
    const { lines } = story("a---|", 1, {
      draining: () => draining,
      walk: () =>
        timer(2).pipe(
          mergeMap(() => {
            draining = true;
            return throwError(() => new Error("aborted"));
          }),
        ),
    });
    expect(lines).toEqual([]);
  });

  test("it emits a run's id as each of its walks begins", () => {
    new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(
      ({ hot, expectObservable }) => {
        const source = hot("a-b-a--|", RUNS).pipe(map((stream) => delivery(stream)));
        expectObservable(walks(source, options({ walk: () => timer(3) }))).toBe("a-b-a--|", {
          a: "a",
          b: "b",
        });
      },
    );
  });
});

describe("what a delivery is answered", () => {
  test("a failing run is handed back after a delay that doubles from 100 ms to 30 s", () => {
    const answers: string[] = [];
    const source = of(...[0, 1, 2, 8, 9, 1_000_000].map((times) => delivery(`run-${times}`, times, answers)));
    walks(source, options({ walk: () => throwError(() => new Error("no")) })).subscribe();
    expect(answers.map((answer) => Number(answer.split(" in ")[1]))).toEqual([
      100,
      200,
      400,
      25_600,
      LONGEST_RETRY_MS,
      LONGEST_RETRY_MS,
    ]);
  });

  test("Q2 a run with more deliveries than may stand keeps what it holds bounded, and still walks after the last of them", () => {
    const answers: string[] = [];
    const ends: Subject<void>[] = [];
    const walk = () => {
      const end = new Subject<void>();
      ends.push(end);
      return end;
    };
    const source = new Subject<Consumed>();
    walks(source, options({ walk })).subscribe();
    for (let n = 0; n < 1_000; n += 1) source.next(delivery("run-a", 0, answers, `${n}`));
    expect(answers).toHaveLength(1_000 - 1 - STANDING);
    expect(answers).not.toContain("ack 0");
    expect(ends).toHaveLength(1);
    ends[0]!.complete();
    expect(answers.slice(-1)).toEqual(["ack 0"]);
    expect(ends).toHaveLength(2);
    expect(answers).not.toContain("ack 1");
    ends[1]!.complete();
    expect(answers).toHaveLength(1_000);
    expect(ends).toHaveLength(2);
  });

  test("Q2 deliveries that stand for others come again when their walk fails", () => {
    const answers: string[] = [];
    const first = new Subject<void>();
    let walked = 0;
    const source = new Subject<Consumed>();
    const walk = () => (++walked === 1 ? first : throwError(() => new Error("no")));
    walks(source, options({ walk })).subscribe();
    for (let n = 0; n < 40; n += 1) source.next(delivery("run-a", 0, answers, `${n}`));
    first.complete();
    expect(answers.filter((answer) => answer.startsWith("retry"))).toHaveLength(STANDING);
  });
});

describe("what is left behind", () => {
  test("Q4 10,000 runs leave no queue: each delivery of an idle run opens it anew, and the heap stays flat", async () => {
    const { gc } = await collector();
    const source = new Subject<Consumed>();
    let begun = 0;
    const subscription = walks(source, options({ walk: () => of(undefined) })).subscribe(() => {
      begun += 1;
    });
    const round = (from: number): void => {
      for (let n = from; n < from + 10_000; n += 1) source.next(delivery(`run-${n}`));
    };
    round(0);
    gc();
    const before = process.memoryUsage().heapUsed;
    for (let more = 1; more <= 5; more += 1) round(more * 10_000);
    gc();
    const grown = process.memoryUsage().heapUsed - before;
    expect(begun).toBe(60_000);
    // A queue left behind for each of 50,000 runs would be some 10 MB.
    expect(grown).toBeLessThan(1_500_000);
    subscription.unsubscribe();
  });

  test("Q4 a run that came to rest walks again at its next delivery", () => {
    const begun: string[] = [];
    const source = new Subject<Consumed>();
    walks(source, options({})).subscribe((runId) => begun.push(runId));
    for (let n = 0; n < 3; n += 1) source.next(delivery("run-a"));
    expect(begun).toEqual(["a", "a", "a"]);
  });

  test("unsubscribing ends the source and answers nothing more", () => {
    const answers: string[] = [];
    let open = true;
    const end = new Subject<void>();
    const source = new Observable<Consumed>((subscriber) => {
      subscriber.next(delivery("run-a", 0, answers));
      return () => {
        open = false;
      };
    });
    const subscription: Subscription = walks(source, options({ walk: () => end })).subscribe();
    expect(open).toBe(true);
    subscription.unsubscribe();
    end.complete();
    expect({ open, answers }).toEqual({ open: false, answers: [] });
  });

  test("two subscribers have queues of their own", () => {
    const seen: string[] = [];
    const pipeline = walks(of(delivery("run-a")), options({ walk: () => NEVER }));
    for (const name of ["one", "two"]) pipeline.subscribe((runId) => seen.push(`${name} ${runId}`));
    expect(seen).toEqual(["one a", "two a"]);
  });
});

/** The garbage collector, without a flag on the command line. */
const collector = async (): Promise<{ gc: () => void }> => {
  const { setFlagsFromString } = await import("node:v8");
  const { runInNewContext } = await import("node:vm");
  setFlagsFromString("--expose-gc");
  return { gc: runInNewContext("gc") as () => void };
};
