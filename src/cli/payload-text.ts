/** A payload for people: its JSON in one line where it fits, else indented, and cut where it goes on for long. */
import type { Payload } from "../events/payload.ts";
import { harmless } from "./terminal.ts";

const ONE_LINE = 64;
const MOST_LINES = 20;
const LINE_LENGTH = 100;

/** The lines of `payload`; `nothing` for an absent one, `erased` or `locked` for one that is sealed. What is left out is said in the last line. */
export const payloadLines = (payload: Payload | undefined): string[] =>
  payload === undefined
    ? ["nothing"]
    : payload.sealed !== undefined
      ? [payload.sealed]
      : jsonLines(payload.json);

const jsonLines = (json: unknown): string[] => {
  const compact = harmless(JSON.stringify(json));
  if (compact.length <= ONE_LINE) return [compact];
  const lines = JSON.stringify(json, undefined, 2).split("\n").map(harmless);
  const shown = lines.slice(0, MOST_LINES);
  const cut = shown.map((line) => (line.length <= LINE_LENGTH ? line : `${line.slice(0, LINE_LENGTH - 1)}…`));
  const left = lines.length - shown.length;
  if (left > 0) cut.push(`… ${left} more lines: --json gives all`);
  else if (cut.some((line, at) => line !== shown[at])) cut.push("(cut at …: --json gives all)");
  return cut;
};
