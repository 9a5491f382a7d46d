/**
 * What a workload gets and gives: settings, a place on the disk, and where its figures go. It decides nothing.
 *
 * Rules that every workload keeps:
 * - Acknowledged appends have been fsynced (SQLite WAL, `synchronous=FULL`), unless the store is the memory log. For `eventstore` it is
 *   the stand-in node that does so, in a process of its own: its figures say what Runstream adds to a call, not what a server takes.
 * - A figure is the median of at least three rounds, and what it is compared with is measured in the same rounds.
 * - Nothing fails because it was slow.
 */
export type StoreKind = "memory" | "sqlite" | "eventstore";

/** `quick` tries everything out in about a minute, `full` takes the largest sizes. */
export type Size = "quick" | "normal" | "full";

export type Figures = Readonly<Record<string, number | string | undefined>>;

export interface Verdict {
  /** The workload. */
  readonly budget: string;
  readonly what: string;
  readonly value: number;
  readonly limit: number;
  readonly unit: string;
  /** The value must not be below the limit; by default it must not be above. */
  readonly atLeast?: boolean;
  /** What a commit of one row took meanwhile, where the value depends on it. */
  readonly floorMs?: number;
}

export interface Bench {
  readonly size: Size;
  readonly stores: readonly StoreKind[];
  /** A folder on the disk that is measured, for this run of the benchmarks alone. */
  readonly folder: string;
  /** What is under way, for people. */
  progress(text: string): void;
  measured(bench: string, store: StoreKind, figures: Figures): void;
  judge(verdict: Verdict): void;
}

export interface Workload {
  readonly id: string;
  readonly what: string;
  run(bench: Bench): Promise<void>;
}

/** The value for this size of benchmark. */
export const sized = (size: Size, sizes: Readonly<Record<Size, number>>): number => sizes[size];

export const rounds = async <T>(count: number, round: (index: number) => Promise<T>): Promise<T[]> => {
  const done: T[] = [];
  for (let index = 0; index < count; index += 1) done.push(await round(index));
  return done;
};
