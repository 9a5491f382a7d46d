/** `runstream/testing`: what one needs to test workflows, stores, and whatever reads a run's events. No test runner is imported. */
export { JournalConflictError } from "../engine/journal-conflict-error.ts";
export type {
  HookRecord,
  JournalStore,
  ResumableRun,
  RunRecord,
  RunStatus,
  SleepEntry,
  SleepRecord,
  StepEntry,
} from "../engine/journal-store.ts";
export type { DeterminismKind } from "../engine/keys.ts";
export { type RunstreamArbitraries, runstreamArbitraries } from "./arbitraries.ts";
export type { ProgramOptions } from "./arbitraries-programs.ts";
export {
  type EventLogConformanceRunner,
  eventLogConformance,
  type LogUnderTest,
} from "./event-log-conformance.ts";
export {
  type JournalStoreConformanceOptions,
  journalStoreConformance,
  type MakeJournalStore,
} from "./journal-store-conformance.ts";
export { DEFAULT_MAX_DELIVERIES, runWorkflow } from "./run-workflow.ts";
export type {
  RunWorkflowOptions,
  WorkflowTestHandle,
  WorkflowTestRead,
  WorkflowTestRun,
  WorkflowTestStep,
} from "./run-workflow-types.ts";
export type { TestRunner } from "./test-runner.ts";
export { createVirtualClock, VIRTUAL_START, type VirtualClock, type VirtualTimer } from "./virtual-clock.ts";
export {
  createWorkflowContext,
  type WorkflowContextOptions,
  type WorkflowRecording,
} from "./workflow-context.ts";
export { answersOf, outcomeOf, type ProgramOutcome } from "./workflow-program-oracle.ts";
export {
  bodyOf,
  type ProgramObserver,
  type ProgramStepPlan,
  type WorkflowProgram,
} from "./workflow-programs.ts";
