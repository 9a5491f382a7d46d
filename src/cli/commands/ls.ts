/** `runstream ls`: a page of runs, newest first. */
import type { Command } from "commander";
import { formatDuration } from "../../projections/event-line.ts";
import type { RunSummary } from "../../projections/run-index-queries.ts";
import { KINDS, type ListedStatus, type RunKind, STATUSES } from "../../projections/run-state.ts";
import { collect, type GlobalOptions, wholeNumber } from "../command-options.ts";
import { nearest } from "../nearest.ts";
import { readyIndexFile, withLog } from "../store.ts";
import { type Cell, harmless, out, print, printJson, statusText, table, tell } from "../terminal.ts";
import { usageError } from "../usage-error.ts";

interface LsOptions extends GlobalOptions {
  readonly workflow?: string;
  readonly status?: readonly string[];
  readonly kind?: readonly string[];
  readonly key?: string;
  readonly limit: number;
  readonly cursor?: string;
  readonly latency?: true;
}

export const registerLs = (program: Command): void => {
  program
    .command("ls")
    .summary("list runs, newest first")
    .description(
      "Lists runs, newest first, a page at a time: runs, threads, and runs of the Workflow SDK (sdk). Where a page holds more than one " +
        "kind, or another than runs, it says which each one is.",
    )
    .option("-w, --workflow <name>", "only runs of this workflow")
    .option(
      "-s, --status <status>",
      `only runs of this status (${STATUSES.join(", ")}); may be repeated`,
      collect,
    )
    .option("--kind <kind>", `only this kind (${KINDS.join(", ")}); may be repeated`, collect)
    .option("-k, --key <key>", "only runs with this key of yours")
    .option("-n, --limit <n>", "runs on a page, at most 1,000", wholeNumber(1), 20)
    .option(
      "--latency",
      "say how long the first step and those after it were in coming, of runs that are over",
    )
    .option("--cursor <cursor>", "go on after the page that printed this cursor")
    .addHelpText("after", EXAMPLES)
    .action(async (_options, command: Command) => {
      await ls(command.optsWithGlobals<LsOptions>());
    });
};

const EXAMPLES = `
With --json one object is printed: {"runs":[…],"cursor":"…"}; there is no cursor
on the last page.

Examples:
  $ runstream ls
  $ runstream ls --workflow fulfil --status failed --status cancelled
  $ runstream ls --json | jq -r '.runs[].runId'`;

const ls = async (options: LsOptions): Promise<void> => {
  const { workflow, key, limit, cursor } = options;
  const query = {
    ...(workflow !== undefined && { workflow }),
    ...(options.status !== undefined && { status: statusesOf(options.status) }),
    ...(options.kind !== undefined && { kind: kindsOf(options.kind) }),
    ...(key !== undefined && { key }),
    ...(cursor !== undefined && { cursor }),
    ...(options.latency && { latency: true }),
    limit,
  };
  const page = await withLog(options, async (log) => {
    const { openRunIndex } = await import("../../projections/run-index.ts");
    const index = openRunIndex(log, { path: readyIndexFile(options) });
    try {
      return await index.list(query);
    } finally {
      await index.close();
    }
  });
  if (options.json) return printJson(page);
  if (page.runs.length === 0) return tell("No runs.");
  await print(listing(page.runs, options.latency === true));
  if (page.cursor !== undefined) tell(out.dim(`There are more: --cursor ${page.cursor}`));
};

const statusesOf = (asked: readonly string[]): ListedStatus[] => chosen(asked, STATUSES, "status");

const kindsOf = (asked: readonly string[]): RunKind[] => chosen(asked, KINDS, "kind");

const chosen = <T extends string>(asked: readonly string[], all: readonly T[], what: string): T[] =>
  asked
    .flatMap((text) => text.split(","))
    .map((text) => {
      const found = all.find((one) => one === text);
      if (found !== undefined) return found;
      const near = nearest(text, all);
      const hint = near === undefined ? "" : ` Did you mean "${near}"?`;
      throw usageError(`There is no ${what} ${JSON.stringify(text)}.${hint} A run is ${all.join(", ")}.`);
    });

const listing = (runs: readonly RunSummary[], latency: boolean): string => {
  const kinds = runs.some(({ kind }) => kind !== "run");
  const rows = runs.map((run): (string | Cell)[] => [
    harmless(run.runId),
    harmless(run.workflow),
    { text: run.status, color: () => statusText(run.status) },
    new Date(run.createdAt).toISOString().slice(0, 19).replace("T", " "),
    ...(kinds ? [run.kind] : []),
    harmless(run.key ?? ""),
    ...(latency ? latencyCells(run) : []),
    run.problem === undefined ? "" : { text: `cannot be read: ${harmless(run.problem)}`, color: out.red },
  ]);
  const head = latency ? ["FIRST STEP", "NEXT STEPS"] : [];
  return table([
    ["RUN", "WORKFLOW", "STATUS", "CREATED (UTC)", ...(kinds ? ["KIND"] : []), "KEY", ...head, ""],
    ...rows,
  ]);
};

const latencyCells = ({ latency }: RunSummary): string[] =>
  [latency?.timeToFirstStepMs, latency?.stepToStep?.medianMs].map((ms) =>
    ms === undefined ? "" : formatDuration(ms),
  );
