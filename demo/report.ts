/** The end of the demo: what the event log says, as a table in plain words. */
import { relative } from "node:path";
import pc from "picocolors";
import { formatDuration } from "../src/projections/event-line.ts";
import type { Kill } from "./kills.ts";
import type { RunFacts } from "./proof.ts";

const shelfOf = (run: RunFacts): string => (run.outcome as { output: { shelf: string } }).output.shelf;
const verdictOf = (run: RunFacts): string => (run.outcome as { output: { verdict: string } }).output.verdict;
const filesOf = (run: RunFacts): string[] => {
  const { json, markdown } = (run.outcome as { output: { json: string; markdown: string } }).output;
  return [json, markdown];
};

export const report = (
  runs: readonly RunFacts[],
  kills: readonly Kill[],
  begun: ReadonlyMap<string, number>,
  store: string,
): string => {
  const lines = ["", pc.bold("What the event log says"), ""];
  const rows = runs.map((run) => {
    const claimed = run.steps.reduce((sum, { claims }) => sum + claims, 0);
    const once = run.steps.filter(({ settles }) => settles === 1).length;
    return [shelfOf(run), run.events, run.steps.length, claimed, once, verdictOf(run)].map(String);
  });
  lines.push(...table([["run", "events", "steps", "claims", "settled once", "filed as"], ...rows]));

  const steps = runs.flatMap((run) => run.steps.map((step) => ({ ...step, run })));
  const again = steps.filter(({ claims }) => claims > 1);
  lines.push(
    "",
    `${pc.green("✓")} ${steps.length} steps, each settled exactly once, over ${kills.length} kills.`,
  );
  lines.push(
    `${pc.green("✓")} ${again.length} of them were claimed more than once, because their worker died in them:`,
    "",
    ...table([
      ["step", "run", "claims", "body begun", "settled"],
      ...again.map(({ key, claims, settles, run }) =>
        [key, shelfOf(run), claims, begun.get(`${run.runId} ${key}`) ?? 0, settles].map(String),
      ),
    ]),
    "",
    "  “Body begun” is not from the log: each body left a note on the disk. A claim is recorded before",
    "  its body runs, so a body never runs more often than it is claimed. What a step does outside must",
    "  bear that: here, a file is written beside its place and renamed.",
    "",
    pc.bold("How long the takeovers took, from SIGKILL to the next claim"),
    "",
    ...table([
      ["killed", "cut off", "taken over by", "took", "of it, the new process's start"],
      ...kills.map(({ killedPid, caught, nextPid, takeoverMs, bootMs }) =>
        [
          killedPid,
          `${caught.length} ${caught.length === 1 ? "step" : "steps"}`,
          nextPid,
          formatDuration(takeoverMs),
          formatDuration(bootMs),
        ].map(String),
      ),
    ]),
    "",
    pc.bold("What was filed"),
    "",
    ...runs.flatMap(filesOf).map((file) => `  ${relative(process.cwd(), file)}`),
    "",
    pc.bold("Try next"),
    "",
    ...commands(runs, relative(process.cwd(), store)).map((command) => `  ${pc.cyan(command)}`),
    "",
  );
  return lines.join("\n");
};

const commands = (runs: readonly RunFacts[], db: string): string[] => {
  const hit = runs.find(({ steps }) => steps.some(({ claims }) => claims > 1)) ?? runs[0]!;
  const id = hit.runId.slice(0, 13);
  return [
    `npm run runstream -- ls --store ${db}`,
    `npm run runstream -- show ${id} --store ${db}`,
    `npm run runstream -- history ${id} --store ${db}`,
    `npm run runstream -- replay ${id} --at 10 --store ${db}`,
  ];
};

/** Columns as wide as their widest cell; the first row is the head. */
const table = (rows: readonly (readonly string[])[]): string[] => {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row, at) => {
    const line = `  ${row.map((cell, column) => cell.padEnd(widths[column]!)).join("  ")}`.trimEnd();
    return at === 0 ? pc.dim(line) : line;
  });
};
