/**
 * What the world checks of one walk while it goes on: laws L3 and L6, and that nothing of a dead worker has an effect.
 *
 * Everything the body was told must be in the log, with the same value, before the next step's body runs; and a body runs only under a
 * claim in the log that no other walk made. An optimistic step is held to neither.
 */

import { stepInfo } from "../../src/engine/step-context.ts";
import { decodePayload } from "../../src/events/payload.ts";
import { isTerminal, type RunState, type Settlement } from "../../src/projections/run-state.ts";
import { show, type WalkWitness } from "./body.ts";
import type { Ordered } from "./history.ts";
import type { RunFacts } from "./ledger.ts";
import type { Owner, Scheduler } from "./scheduler.ts";
import { Violation } from "./violation.ts";

export interface WitnessOptions {
  readonly run: Ordered;
  readonly facts: RunFacts;
  readonly owner: Owner;
  readonly scheduler: Scheduler;
  readonly trace: (line: string) => void;
  readonly fail: (error: unknown) => void;
}

/** Walks that have run a step's body, by run and key. */
const walksOf = new WeakMap<Ordered, Map<string, number>>();

export const witnessWalk = ({ run, facts, owner, scheduler, trace, fail }: WitnessOptions): WalkWitness => {
  const { runId } = run;
  const mine = new Set<string>();
  const told: { readonly what: Settlement; readonly text: string }[] = [];
  const troubledSteps = new Set<string>();

  const breaks = (law: string, message: string): never => {
    const violation = new Violation(law, message);
    fail(violation);
    throw violation;
  };

  return {
    bodyStarts(key, optimistic) {
      if (!owner.alive) breaks("the dead do nothing", `${owner.name} runs ${key} of ${runId}`);
      const info = stepInfo();
      if (info?.key !== key) breaks("keys", `the body of ${key} of ${runId} runs as ${info?.key}`);
      trace(`${owner.name} runs ${key} of ${runId}, try ${info?.attempt}`);
      run.bodies.set(key, (run.bodies.get(key) ?? 0) + 1);
      if (troubledSteps.has(key)) {
        breaks("L9", `${key} of ${runId} is tried again after the engine, not the step, was in trouble`);
      }
      // It may have no claim yet, nor wait for what the body was told: the next step that is not optimistic does.
      if (optimistic) return;
      if (!mine.has(key)) {
        mine.add(key);
        const walks = walksOf.get(run) ?? new Map<string, number>();
        walksOf.set(run, walks);
        walks.set(key, (walks.get(key) ?? 0) + 1);
        const claims = facts.claims.get(key)?.size ?? 0;
        if (claims < walks.get(key)!) {
          breaks("L3", `${walks.get(key)} walks run ${key} of ${runId}, on ${claims} claims in the log`);
        }
      }
      // What is still on its way when the run ends is for nobody any more.
      if (isTerminal(facts.state.status)) return;
      for (const { what, text } of told.splice(0)) {
        const recorded = recordedText(facts.state, what);
        if (recorded === text) continue;
        breaks(
          "L3",
          `${key} of ${runId} runs after its body was told that ${what.key} is ${text}, while the log has ${recorded}`,
        );
      }
    },
    pause: (key) => scheduler.wait(`${key} of ${runId}`, owner),
    saw(what, text) {
      told.push({ what, text });
    },
    troubled(error) {
      const info = stepInfo();
      if (info !== undefined) troubledSteps.add(info.key);
      trace(`${owner.name} ${runId} is in trouble: ${String(error)}`);
    },
  };
};

const recordedText = (state: RunState, { of, key }: Settlement): string | undefined => {
  switch (of) {
    case "step": {
      const step = state.steps.get(key);
      if (step === undefined) return undefined;
      if (step.status === "failed") return `failed ${step.error?.message}`;
      return show(step.output === undefined ? undefined : decodePayload(step.output));
    }
    case "sleep":
      return state.sleeps.get(key)?.over === undefined ? undefined : show(undefined);
    case "hook": {
      const hook = state.hooks.get(key);
      if (hook === undefined || hook.status === "open") return undefined;
      return show(hook.payload === undefined ? undefined : decodePayload(hook.payload));
    }
  }
};
