import { describe, expect, test } from "vitest";
import { BOOT_SWEEP_LIMIT, BOOT_SWEEP_STAGGER_MS, bootSweep } from "./boot-sweep.ts";
import type { JournalStore, ResumableRun } from "./journal-store.ts";
import type { Logger } from "./logger.ts";

const NOW = 10_000;

/** Sweeps a journal that answers `runs`, and says what was dispatched and what was logged. */
const sweep = async (
  resumableRuns: JournalStore["resumableRuns"] | undefined,
  stopped: () => boolean = () => false,
) => {
  const dispatched: [string, number | undefined][] = [];
  const lines: string[] = [];
  const fields: unknown[] = [];
  const at =
    (level: string) =>
    (message: string, more?: unknown): void => {
      lines.push(`${level}: ${message}`);
      fields.push(more);
    };
  const logger: Logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  const journal = (resumableRuns === undefined ? {} : { resumableRuns }) as JournalStore;
  await bootSweep(
    journal,
    (runId, when) => {
      dispatched.push([runId, when]);
    },
    { logger, clock: () => NOW, stopped: () => stopped() || dispatched.length >= 1_000 },
  );
  return { dispatched, lines, fields };
};

const answering = (runs: ResumableRun[]) => async (): Promise<ResumableRun[]> => runs;

describe("the boot sweep", () => {
  test("delivers a run at its deadline, and spreads those that are overdue", async () => {
    const { dispatched, lines, fields } = await sweep(
      answering([
        { runId: "past", wakeAt: NOW - 1 },
        { runId: "now" },
        { runId: "ahead", wakeAt: NOW + 500 },
        { runId: "just", wakeAt: NOW },
      ]),
    );
    expect(dispatched).toEqual([
      ["past", NOW],
      ["now", NOW + BOOT_SWEEP_STAGGER_MS],
      ["ahead", NOW + 500],
      ["just", NOW + 2 * BOOT_SWEEP_STAGGER_MS],
    ]);
    expect(lines).toEqual(["info: Workflow runs recovered at boot"]);
    expect(fields).toEqual([{ runs: 4, overdue: 3 }]);
  });

  test("says nothing where nothing is owed", async () => {
    expect(await sweep(answering([]))).toEqual({ dispatched: [], lines: [], fields: [] });
  });

  test("asks for a bounded number, and warns when there may be more", async () => {
    let limit = 0;
    const runs = Array.from({ length: BOOT_SWEEP_LIMIT }, (_, n) => ({ runId: `r${n}` }));
    const { dispatched, lines } = await sweep(async (asked) => {
      limit = asked;
      return runs;
    });
    expect([limit, dispatched.length]).toEqual([200, 200]);
    expect(lines).toEqual([
      "info: Workflow runs recovered at boot",
      "warn: More workflow runs may be owed a delivery",
    ]);
  });

  test("a journal that cannot say is warned about once, with what that means", async () => {
    const { lines, fields } = await sweep(undefined);
    expect(lines).toEqual(["warn: Workflow runs cannot be recovered at boot"]);
    expect(JSON.stringify(fields)).toContain("ctx.sleep");
  });

  test.each([
    ["rejects", async () => Promise.reject(new Error("away"))],
    [
      "throws",
      () => {
        throw new Error("away");
      },
    ],
  ] as [string, JournalStore["resumableRuns"]][])(
    "a journal that %s is logged and not thrown",
    async (_, resumable) => {
      const { lines, fields } = await sweep(resumable);
      expect(lines).toEqual(["error: Workflow runs could not be recovered at boot"]);
      expect(fields).toEqual([{ error: "away" }]);
    },
  );

  test("ends early when the engine is stopped meanwhile", async () => {
    let stopped = false;
    const { dispatched, lines } = await sweep(
      async () => {
        stopped = true;
        return [{ runId: "a" }, { runId: "b" }];
      },
      () => stopped,
    );
    expect([dispatched, lines]).toEqual([[], []]);
  });
});
