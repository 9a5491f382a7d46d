/** What may be asked of the benchmarks on the command line. */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Size, StoreKind } from "./bench.ts";

export interface Arguments {
  readonly json: boolean;
  /** Ids of workloads in capitals; absent for all of them. */
  readonly only: readonly string[] | undefined;
  readonly stores: readonly StoreKind[];
  readonly size: Size;
  readonly folder: string;
}

export const USAGE = `npm run bench [-- options]

  --only W1,W2         these workloads alone (W0 to W8, WT)
  --store <which>      sqlite (default), memory or both; W5 to W8 are about files and run on sqlite only;
                       or eventstore: W0 and W1 through a stand-in node in a process of its own
  --quick              everything once around, small, in about two minutes: the figures mean little
  --full               the largest sizes (W8: 1,000,000 runs, which takes 3 GB of disk and a quarter of an hour)
  --dir <folder>       the folder on the disk to measure (default: bench-output/ in the project; not a RAM disk)
  --json               one JSON line per measurement and per budget, and nothing else
  --help               this text
`;

/** What was asked for cannot be done as it was asked. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Throws a {@link UsageError} that says what is wrong with the arguments; answers `undefined` where help is asked for. */
export const readArguments = (args: readonly string[]): Arguments | undefined => {
  const values = parsed(args);
  if (values.help) return undefined;
  return {
    json: values.json,
    only: values.only?.split(",").map((id) => id.trim().toUpperCase()),
    stores: storesOf(values.store),
    size: values.full ? "full" : values.quick ? "quick" : "normal",
    folder: resolve(values.dir ?? resolve(import.meta.dirname, "../bench-output")),
  };
};

const parsed = (args: readonly string[]) => {
  try {
    return parse(args);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
};

const parse = (args: readonly string[]) =>
  parseArgs({
    args: [...args],
    options: {
      json: { type: "boolean", default: false },
      only: { type: "string" },
      store: { type: "string", default: "sqlite" },
      quick: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
      dir: { type: "string" },
      help: { type: "boolean", default: false },
    },
  }).values;

const storesOf = (which: string): readonly StoreKind[] => {
  if (which === "both") return ["memory", "sqlite"];
  if (which === "memory" || which === "sqlite" || which === "eventstore") return [which];
  throw new UsageError(
    `--store takes sqlite, memory, both or eventstore, and was given ${JSON.stringify(which)}.`,
  );
};
