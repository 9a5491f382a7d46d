/** How figures look: one JSON line each, or a readable table, with the budgets at the end. Progress goes to stderr. */
import type { Bench, Figures, StoreKind, Verdict } from "./bench.ts";

const rounded = (value: number): number => {
  if (!Number.isFinite(value) || Number.isInteger(value)) return value;
  const digits = Math.abs(value) >= 1_000 ? 0 : Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 1 ? 2 : 4;
  return Number(value.toFixed(digits));
};

const present = (figures: Figures): Figures =>
  Object.fromEntries(
    Object.entries(figures)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, typeof value === "number" ? rounded(value) : value]),
  );

const within = ({ value, limit, atLeast }: Verdict): boolean =>
  atLeast === true ? value >= limit : value <= limit;

export type Report = Pick<Bench, "progress" | "measured" | "judge"> & { end(): void };

const say = (line: string): void => void process.stdout.write(`${line}\n`);

export const jsonReport = (): Report => ({
  progress: () => {},
  measured: (bench, store, figures) => say(JSON.stringify({ bench, store, ...present(figures) })),
  judge: (verdict) => {
    const { value, floorMs } = verdict;
    const figures = present({ value, floorMs });
    say(JSON.stringify({ ...verdict, ...figures, within: within(verdict) }));
  },
  end: () => {},
});

const inWords = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

const measuredLine = (bench: string, store: StoreKind, figures: Figures): string => {
  const parts = Object.entries(present(figures)).map(([name, value]) => `${inWords(name)} ${value}`);
  return `${bench} ${store.padEnd(6)} ${parts.join(" · ")}`;
};

const COMMIT_NOTE =
  "commit: what the disk took for one row at the same time. Budgets in ms and a second are meant for 0.23 to 0.29 ms and an idle machine.";

const budgetTable = (verdicts: readonly Verdict[]): string[] => {
  const rows = verdicts.map((verdict) => [
    verdict.budget,
    verdict.what,
    `${rounded(verdict.value)} ${verdict.unit}`.trim(),
    `${verdict.atLeast === true ? "≥" : "≤"} ${verdict.limit} ${verdict.unit}`.trim(),
    verdict.floorMs === undefined ? "" : `${rounded(verdict.floorMs)} ms`,
    within(verdict) ? "within" : "OUTSIDE",
  ]);
  const all = [["", "budget", "value", "limit", "commit", ""], ...rows];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
};

export const textReport = (): Report => {
  const verdicts: Verdict[] = [];
  const interactive = process.stderr.isTTY === true;
  const began = performance.now();
  return {
    progress(text) {
      const at = `${((performance.now() - began) / 1_000).toFixed(0)} s`.padStart(6);
      process.stderr.write(interactive ? `\r\u001b[K${at}  ${text}` : `${at}  ${text}\n`);
    },
    measured(bench, store, figures) {
      if (interactive) process.stderr.write("\r\u001b[K");
      say(measuredLine(bench, store, figures));
    },
    judge: (verdict) => void verdicts.push(verdict),
    end() {
      if (interactive) process.stderr.write("\r\u001b[K");
      if (verdicts.length === 0) return;
      say("");
      for (const line of budgetTable(verdicts)) say(line);
      say("");
      say(COMMIT_NOTE);
    },
  };
};
