/**
 * A witness outside the log: notes on the disk each time a step's body is really begun, so that what the log says about claims can be
 * checked against something that the engine did not write.
 */
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stepInfo } from "../src/index.ts";

export const witnessFile = (output: string): string => join(output, "bodies-begun.txt");

/** The body, with a note of its beginning. The note is written before the body does anything. */
export const witness =
  <T>(output: string, runId: string, body: () => Promise<T>): (() => Promise<T>) =>
  async () => {
    mkdirSync(output, { recursive: true });
    appendFileSync(witnessFile(output), `${runId} ${stepInfo()?.key}\n`);
    return body();
  };

/** How often each body was begun, by `<run id> <step key>`. */
export const bodiesBegun = (output: string): ReadonlyMap<string, number> => {
  const begun = new Map<string, number>();
  for (const line of readFileSync(witnessFile(output), "utf8").split("\n"))
    if (line !== "") begun.set(line, (begun.get(line) ?? 0) + 1);
  return begun;
};
