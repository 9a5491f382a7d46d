/**
 * What commands print: data on standard output, messages on standard error, colours only where somebody sees them.
 */
import pc from "picocolors";
import type { ListedStatus } from "../projections/run-state.ts";

type Colors = ReturnType<typeof pc.createColors>;

const wantsColor = (stream: NodeJS.WriteStream): boolean => {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  if ((NO_COLOR ?? "") !== "" || process.argv.includes("--no-color")) return false;
  return (FORCE_COLOR ?? "") !== "" || (stream.isTTY === true && TERM !== "dumb");
};

/** Colours for standard output, and for standard error. */
export const out: Colors = pc.createColors(wantsColor(process.stdout));
export const err: Colors = pc.createColors(wantsColor(process.stderr));

/** Writes data, and answers when the reader has room for more. */
export const print = (text: string): Promise<void> | void => {
  if (process.stdout.write(`${text}\n`)) return;
  return new Promise((resolve) => process.stdout.once("drain", resolve));
};

export const printJson = (value: unknown): Promise<void> | void => print(JSON.stringify(value));

/** A message for the person at the terminal. */
export const tell = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

const STATUS_COLORS = {
  pending: "dim",
  running: "cyan",
  completed: "green",
  failed: "red",
  cancelled: "yellow",
  awaiting_input: "magenta",
  interrupted: "yellow",
} as const satisfies Record<ListedStatus, keyof Colors>;

export const statusText = (status: ListedStatus, colors: Colors = out): string =>
  colors[STATUS_COLORS[status]](status);

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach a terminal.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** Text from outside, made harmless for a terminal. */
export const harmless = (text: string): string =>
  text.replace(CONTROL, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** A cell may be coloured: `width` is what counts for the layout. */
export interface Cell {
  readonly text: string;
  readonly color?: (text: string) => string;
}

/** Rows as columns that are as wide as their widest cell, two blanks apart; the first row is the head. */
export const table = (rows: readonly (readonly (string | Cell)[])[]): string => {
  const cells = rows.map((row) =>
    row.map((cell): Cell => (typeof cell === "string" ? { text: cell } : cell)),
  );
  const widths: number[] = [];
  for (const row of cells)
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.text.length);
    });
  const line = (row: readonly Cell[]): string =>
    row
      .map(({ text, color = (it: string) => it }, column) =>
        column === row.length - 1 ? color(text) : color(text) + " ".repeat(widths[column]! - text.length),
      )
      .join("  ")
      .trimEnd();
  return cells.map((row, at) => (at === 0 ? out.dim(line(row)) : line(row))).join("\n");
};
