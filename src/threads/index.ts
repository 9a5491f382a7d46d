/** `runstream/threads`: the function-style workflow, whose steps are recorded as checkpoints of a thread. */
export {
  GraphDrainedError,
  GraphError,
  GraphNotInterruptedError,
  GraphThreadNotFoundError,
  TenantIdError,
  WorkflowStepTimeoutError,
} from "./errors.ts";
export type {
  GraphCheckpoint,
  GraphCheckpointer,
  GraphCheckpointV1,
  GraphDescription,
  GraphEvent,
  GraphMessageChunk,
  GraphStatus,
  GraphTask,
  GraphToolEvent,
  InterruptRequest,
  PendingInterrupt,
  RetryPolicy,
  RunControlLike,
  StoredGraphCheckpoint,
} from "./graph-types.ts";
export { type LogCheckpointer, logCheckpointer } from "./log/log-checkpointer.ts";
export { ThreadConflictError } from "./log/thread-conflict-error.ts";
export {
  type MemoryCheckpointerOptions,
  MemoryGraphCheckpointer,
  memoryCheckpointer,
} from "./memory-checkpointer.ts";
export { type CheckpointDraft, migrateCheckpoint, toCheckpoint } from "./migration.ts";
export { RunControl } from "./run-control.ts";
export type {
  OperationDescriptor,
  OperationFamily,
  OperationLifecycleLike,
  OperationResultInfo,
  OperationStartOptions,
  OperationTicket,
  Principal,
  ProviderCallContext,
  Store,
  StoreItem,
  StoreNamespace,
  StorePutOptions,
  StoreSearchOptions,
} from "./surroundings.ts";
export { tenantStore } from "./tenant-store.ts";
export type {
  StepContext,
  StepFailure,
  StepOptions,
  StepRecovery,
  StepTimeout,
  WorkflowContext,
  WorkflowEvent,
  WorkflowFn,
  WorkflowOptions,
  WorkflowResult,
  WorkflowRunOptions,
  WorkflowState,
} from "./types.ts";
export { Workflow, workflow } from "./workflow.ts";
