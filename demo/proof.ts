/**
 * What the demo claims, checked against the event log and against what lies on the disk. Nothing is taken from what the demo itself
 * remembers, except when it killed.
 */
import { readdirSync, readFileSync } from "node:fs";
import type { HistoryEntry, RunOutcome, Runstream } from "../src/index.ts";
import { bodiesBegun } from "./witness.ts";

export interface StepFacts {
  readonly key: string;
  readonly claims: number;
  readonly settles: number;
}

export interface RunFacts {
  readonly runId: string;
  readonly events: number;
  readonly outcome: RunOutcome;
  readonly steps: readonly StepFacts[];
}

export const factsOf = async (runstream: Runstream, runId: string): Promise<RunFacts> => {
  const history: HistoryEntry[] = [];
  for await (const entry of runstream.history(runId)) history.push(entry);
  const steps = new Map<string, { key: string; claims: number; settles: number }>();
  for (const { event } of history) {
    if (event.type !== "AttemptClaimed" && event.type !== "StepSettled") continue;
    const { key } = event.data;
    const step = steps.get(key) ?? { key, claims: 0, settles: 0 };
    steps.set(key, step);
    if (event.type === "AttemptClaimed") step.claims += 1;
    else step.settles += 1;
  }
  const outcome = await runstream.result(runId, { timeoutMs: 1_000 });
  return { runId, events: history.length, outcome, steps: [...steps.values()] };
};

/** Every claim that does not hold, in words; none where all hold. */
export const untrueClaims = (runs: readonly RunFacts[], output: string, unreviewed: string): string[] => {
  const untrue: string[] = [];
  const begun = bodiesBegun(output);
  for (const { runId, outcome, steps } of runs) {
    if (outcome.status !== "completed") {
      untrue.push(`Run ${runId} is ${outcome.status}: ${"error" in outcome ? outcome.error : ""}`);
      continue;
    }
    for (const { key, claims, settles } of steps) {
      const bodies = begun.get(`${runId} ${key}`) ?? 0;
      if (settles !== 1) untrue.push(`Step ${key} of run ${runId} settled ${settles} times.`);
      if (bodies < 1 || bodies > claims)
        untrue.push(
          `Step ${key} of run ${runId} was claimed ${claims} times, its body begun ${bodies} times.`,
        );
    }
    const { documents, verdict, json } = outcome.output as {
      documents: number;
      verdict: string;
      json: string;
    };
    const filed = JSON.parse(readFileSync(json, "utf8")) as { documents: unknown[]; verdict: string };
    if (filed.documents.length !== documents || filed.verdict !== verdict)
      untrue.push(`${json} does not say what the run ${runId} says.`);
    const wanted = runId === unreviewed ? "unreviewed" : "approved by Ada";
    if (verdict !== wanted) untrue.push(`Run ${runId} was filed as "${verdict}", not as "${wanted}".`);
  }
  const parts = readdirSync(output).filter((name) => name.endsWith(".part"));
  if (parts.length > 0) untrue.push(`Half-written files were left: ${parts.join(", ")}.`);
  return untrue;
};
