/**
 * Steps and determinism reads of a context: what settles once and is answered from the record ever after.
 *
 * Not here: how a step is tried (attempt.ts). The invariants are those of context.ts.
 */
import { textArgument, triesArgument } from "../arguments.ts";
import { DEFAULT_RETRY, retryRules } from "../attempts/retry-policy.ts";
import { createDivergenceWatch, divergenceMessage, type Suspicion } from "../divergence.ts";
import type { Settlement, StepEntry } from "../journal-store.ts";
import type { DeterminismKind } from "../keys.ts";
import { JOURNAL_MAX_ENTRIES, journalFullMessage, Refusal, schemaMismatchMessage } from "../refusals.ts";
import { checkSchema } from "../schema.ts";
import { currentStep, type StepSlot } from "../step-context.ts";
import { FatalError } from "../step-errors.ts";
import type { StepGate } from "../step-gate.ts";
import type { Schema, StepBody, StepOptions } from "../workflow.ts";
import { type AttemptScope, attemptStep, DEFAULT_MAX_ATTEMPTS } from "./attempt.ts";
import type { ContextScope } from "./context-scope.ts";

export interface StepsOptions {
  /** What had settled when the walk began. */
  readonly steps: readonly StepEntry[];
  /** In which order; `undefined` where the store cannot say. */
  readonly order: readonly Settlement[] | undefined;
  readonly gate: StepGate;
  readonly narrate: (line: string) => void;
  readonly codeVersions: { readonly started: string | undefined; readonly walking: string | undefined };
}

export interface Steps {
  step(name: string, fn: StepBody, options?: StepOptions): Promise<unknown>;
  read(kind: DeterminismKind, source: () => unknown): Promise<unknown>;
}

export const createSteps = (scope: ContextScope, options: StepsOptions): Steps => {
  const { walk, keys, answers, clock, outsideStep } = scope;
  const { gate, codeVersions } = options;
  const { runId, journal } = walk;
  const recorded = new Map(options.steps.map((entry) => [entry.key, entry]));
  const divergence = createDivergenceWatch(options.steps, options.order);

  /** Of optimistic steps, by key: what is inside one is recorded only under its claim. */
  const claiming = new Map<string, Promise<unknown>>();

  let entries = options.steps.length;

  /** One more that may settle: counted when it is asked for, so that a walk ends where the next one would refuse to begin. */
  const countEntry = (key: string): void => {
    if (entries >= JOURNAL_MAX_ENTRIES) {
      walk.refuse(new Refusal("journal-bound", journalFullMessage({ runId, key })));
    }
    entries += 1;
  };

  const refuseDivergence = (name: string, key: string, suspicion: Suspicion): never =>
    walk.refuse(
      new Refusal("divergence", divergenceMessage({ runId, name, key, suspicion, ...codeVersions })),
    );

  const attempts: AttemptScope = {
    walk,
    answers,
    clock,
    onFirstReach: ({ name, key, suspicion }) => {
      if (suspicion !== undefined && divergence.stands(suspicion)) refuseDivergence(name, key, suspicion);
    },
    onLateAnswer: (late) => divergence.answeredLate(late),
    narrate: options.narrate,
    onClaiming: ({ key }, claim) => claiming.set(key, claim),
  };

  /** A recorded entry as the step's result. */
  const resultOf = (entry: StepEntry, schema: Schema | undefined): unknown => {
    if (entry.status === "failed") throw new FatalError(entry.error?.message ?? "The step failed.");
    if (schema === undefined) return entry.output;
    const checked = checkSchema(schema, entry.output);
    return checked instanceof Promise ? checked.then(accept) : accept(checked);

    function accept(result: Awaited<typeof checked>): unknown {
      if (result.ok) return result.value;
      const { key, name } = entry;
      const facts = { runId, name, key, issues: result.message, ...codeVersions };
      return walk.refuse(new Refusal("schema-mismatch", schemaMismatchMessage(facts)));
    }
  };

  const step = (
    name: string,
    fn: StepBody,
    { maxAttempts, schema, retry, timeout, onError, optimistic = false }: StepOptions = {},
  ): Promise<unknown> => {
    textArgument("The name of a step", name);
    const budget = triesArgument(
      "maxAttempts of a step",
      maxAttempts ?? retry?.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
    );
    const key = keys.step(name);
    const entry = recorded.get(key);
    const suspicion = divergence.reach(key, entry);
    const produce = (settled: StepEntry): unknown => resultOf(settled, schema);
    const asked: Settlement = { of: "step", key };
    if (entry !== undefined) return answers.recorded(asked, () => produce(entry));
    countEntry(key);
    const inside = currentStep() !== undefined;
    return answers.live<StepEntry>(asked, produce, (question) => {
      const attempt = (slot: StepSlot | undefined): Promise<void> =>
        attemptStep(
          {
            key,
            name,
            fn,
            maxAttempts: budget,
            schema,
            retry: retry === undefined ? undefined : retryRules(DEFAULT_RETRY, retry),
            limits: timeout,
            onError,
            optimistic: optimistic && !inside,
            slot,
            question,
            inside,
            suspicion,
          },
          attempts,
        );
      const outerClaim = inside ? claiming.get(currentStep()?.key ?? "") : undefined;
      const comesToRest = journal.wasClaimed(key) ? divergence.resumed() : undefined;
      const attempted = gate.run(
        outerClaim === undefined ? attempt : (slot) => outerClaim.then(() => attempt(slot)),
      );
      if (comesToRest !== undefined) attempted.then(comesToRest, comesToRest);
      return attempted;
    });
  };

  const read = (kind: DeterminismKind, source: () => unknown): Promise<unknown> => {
    outsideStep(`ctx.${kind}`);
    const key = keys.read(kind);
    const entry = recorded.get(key);
    divergence.reach(key, entry);
    const produce = (settled: StepEntry): unknown => settled.output;
    const asked: Settlement = { of: "step", key };
    if (entry !== undefined) return answers.recorded(asked, () => produce(entry));
    countEntry(key);
    return answers.live<StepEntry>(asked, produce, async (question) => {
      const at = clock();
      const settled: StepEntry = {
        key,
        name: kind,
        status: "ok",
        output: source(),
        attempts: 0,
        startedAt: at,
        finishedAt: at,
      };
      await answers.settle(settled, question);
    });
  };

  return { step, read };
};
