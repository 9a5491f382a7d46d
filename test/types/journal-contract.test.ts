/**
 * The types of the journal contract and of the test driver, against the published declarations they have to equal: what fits the
 * one fits the other. `npm run types` is what judges this file; running it only shows that it is looked at.
 *
 * Where our type has more than the contract (`JournalStore.settlements`) it must still go both ways.
 */
import { describe, expectTypeOf, it } from "vitest";
import { JournalConflictError } from "../../src/engine/journal-conflict-error.ts";
import type {
  HookRecord,
  JournalStore,
  ResumableRun,
  RunRecord,
  RunStatus,
  SleepEntry,
  SleepRecord,
  StepEntry,
} from "../../src/engine/journal-store.ts";
import type { DeterminismKind } from "../../src/engine/keys.ts";
import type { Logger } from "../../src/engine/logger.ts";
import type { WorkflowDef } from "../../src/engine/workflow.ts";
import { type DEFAULT_MAX_DELIVERIES, runWorkflow } from "../../src/testing/run-workflow.ts";
import type {
  RunWorkflowOptions,
  WorkflowTestHandle,
  WorkflowTestRead,
  WorkflowTestRun,
  WorkflowTestStep,
} from "../../src/testing/run-workflow-types.ts";

declare namespace Published {
  type Failure = { message: string };
  type Wait = "sleep" | "hookTimeout";
  type Status = "pending" | "running" | "completed" | "failed" | "cancelled";
  type Run = {
    runId: string;
    workflow: string;
    status: Status;
    createdAt: number;
    input: unknown;
    output?: unknown;
    error?: Failure;
    codeVersion?: string;
  };
  type Step = {
    key: string;
    name: string;
    status: "ok" | "failed";
    output?: unknown;
    error?: Failure;
    attempts: number;
    startedAt?: number;
    finishedAt: number;
  };
  type Sleep = { wakeAt: number; woken: boolean; correlationId?: string; kind: Wait };
  type KeyedSleep = { key: string; wakeAt: number; woken: boolean; correlationId?: string; kind: Wait };
  type Hook = { token: string; delivered: boolean; closed?: boolean; payload?: unknown };
  type Resumable = { runId: string; wakeAt?: number };
  type Patch = { error?: Failure; output?: unknown };
  type Journal = {
    appendStep(runId: string, entry: Step): Promise<Step>;
    claimAttempt(runId: string, key: string, holder: string, leaseMs: number): Promise<number>;
    claimHook(runId: string, key: string, token: string): Promise<Hook>;
    claimSleep(
      runId: string,
      key: string,
      wakeAt: number,
      id: string | undefined,
      kind?: Wait,
    ): Promise<Sleep>;
    closeHook(runId: string, key: string): Promise<boolean>;
    createRun(record: Run): Promise<void>;
    deliverHook(token: string, payload: unknown): Promise<string | undefined>;
    getRun(runId: string): Promise<Run | undefined>;
    listRuns(workflow: string, limit: number): Promise<Run[]>;
    readSleeps(runId: string): Promise<KeyedSleep[]>;
    readStep(runId: string, key: string): Promise<Step | undefined>;
    readSteps(runId: string): Promise<Step[]>;
    releaseAttempt(runId: string, key: string, holder: string): Promise<void>;
    resumableRuns?: (limit: number) => Promise<Resumable[]>;
    setStatus(runId: string, next: Status, patch?: Patch, expect?: readonly Status[]): Promise<boolean>;
    wakeSleeps(runId: string, ids: readonly string[] | undefined): Promise<number>;
  };
  type Options = {
    crashAt?: string;
    journal?: Journal;
    logger?: Logger;
    maxDeliveries?: number;
    name?: string;
  };
  type TestStep = {
    readonly attempts: number;
    readonly error?: string;
    readonly key: string;
    readonly name: string;
    readonly output?: unknown;
    readonly status: "ok" | "failed";
  };
  type TestRead = { readonly key: string; readonly kind: "now" | "random" | "uuid"; readonly value: unknown };
  type TestRun<R> = {
    readonly crashed: boolean;
    readonly deliveries: number;
    readonly error: string | undefined;
    readonly output: R | undefined;
    readonly reads: readonly TestRead[];
    readonly runId: string;
    readonly status: Status;
    readonly steps: readonly TestStep[];
    readonly wakeAt: number | undefined;
  };
  type TestHandle<R> = TestRun<R> & {
    readonly journal: Journal;
    readonly signalled: boolean;
    advanceSleep(correlationIds?: readonly string[]): Promise<TestHandle<R>>;
    close(): Promise<void>;
    expireWaits(): Promise<TestHandle<R>>;
    restart(): Promise<TestHandle<R>>;
    signal(token: string, payload?: unknown): Promise<TestHandle<R>>;
  };
}

/** Every field with what it holds: two types that spell one shape differently become one. */
type Flat<T> = { [K in keyof T]: T[K] };

describe("the published types", () => {
  it("have the records as they are declared", () => {
    expectTypeOf<RunStatus>().toEqualTypeOf<Published.Status>();
    expectTypeOf<RunRecord>().toEqualTypeOf<Published.Run>();
    expectTypeOf<StepEntry>().toEqualTypeOf<Published.Step>();
    expectTypeOf<SleepRecord>().toEqualTypeOf<Published.Sleep>();
    expectTypeOf<Flat<SleepEntry>>().toEqualTypeOf<Published.KeyedSleep>();
    expectTypeOf<HookRecord>().toEqualTypeOf<Published.Hook>();
    expectTypeOf<ResumableRun>().toEqualTypeOf<Published.Resumable>();
    expectTypeOf<DeterminismKind>().toEqualTypeOf<Published.TestRead["kind"]>();
  });

  it("have a JournalStore that goes both ways, and one optional method more", () => {
    expectTypeOf<JournalStore>().toExtend<Published.Journal>();
    expectTypeOf<Published.Journal>().toExtend<JournalStore>();
    expectTypeOf<Exclude<keyof JournalStore, keyof Published.Journal>>().toEqualTypeOf<"settlements">();
    expectTypeOf<Exclude<keyof Published.Journal, keyof JournalStore>>().toBeNever();
    type OfTheContract = Pick<JournalStore, keyof Published.Journal>;
    expectTypeOf<{ [K in keyof OfTheContract]: Parameters<NonNullable<OfTheContract[K]>> }>().toEqualTypeOf<{
      [K in keyof Published.Journal]: Parameters<NonNullable<Published.Journal[K]>>;
    }>();
  });

  it("have a test driver that goes both ways", () => {
    expectTypeOf<RunWorkflowOptions>().toExtend<Published.Options>();
    expectTypeOf<Published.Options>().toExtend<RunWorkflowOptions>();
    expectTypeOf<keyof RunWorkflowOptions>().toEqualTypeOf<keyof Published.Options>();
    expectTypeOf<WorkflowTestStep>().toEqualTypeOf<Published.TestStep>();
    expectTypeOf<WorkflowTestRead>().toEqualTypeOf<Published.TestRead>();
    expectTypeOf<WorkflowTestRun<Date>>().toEqualTypeOf<Published.TestRun<Date>>();
    expectTypeOf<WorkflowTestHandle<Date>>().toExtend<Published.TestHandle<Date>>();
    expectTypeOf<Published.TestHandle<Date>>().toExtend<WorkflowTestHandle<Date>>();
    expectTypeOf<keyof WorkflowTestHandle<Date>>().toEqualTypeOf<keyof Published.TestHandle<Date>>();
  });

  it("have the driver's function, its bound and the conflict as they are declared", () => {
    const drive = (def: WorkflowDef<never, Date>) => runWorkflow(def, { any: "input" }, { name: "given" });
    expectTypeOf(drive).returns.resolves.toExtend<Published.TestHandle<Date>>();
    expectTypeOf(runWorkflow).parameter(1).toEqualTypeOf<Record<string, unknown>>();
    expectTypeOf(runWorkflow).parameter(2).toEqualTypeOf<RunWorkflowOptions | undefined>();
    expectTypeOf<typeof DEFAULT_MAX_DELIVERIES>().toEqualTypeOf<50>();
    expectTypeOf(JournalConflictError).toBeConstructibleWith("message");
    expectTypeOf(JournalConflictError).instance.toExtend<Error>();
    expectTypeOf(JournalConflictError.is).guards.toEqualTypeOf<JournalConflictError>();
  });
});
