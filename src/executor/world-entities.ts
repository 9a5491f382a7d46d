/**
 * What a World answers about runs, steps, hooks and waits: projections of its events. Types only, spec version 5, interchangeable
 * with the published ones. Payload fields hold serialised data, which only the executor and the orchestrator can read.
 */

interface RunFields {
  runId: string;
  deploymentId: string;
  workflowName: string;
  specVersion?: number | undefined;
  executionContext?: Record<string, unknown> | undefined;
  input?: unknown;
  errorCode?: string | undefined;
  attributes: Record<string, string>;
  expiredAt?: Date | undefined;
  startedAt?: Date | undefined;
  createdAt: Date;
  updatedAt: Date;
}

/** A run, by its status. */
export type WorkflowRun = RunFields &
  (
    | { status: "pending" | "running"; output?: undefined; error?: undefined; completedAt?: undefined }
    | { status: "cancelled"; output?: undefined; error?: undefined; completedAt: Date }
    | { status: "completed"; output: unknown; error?: undefined; completedAt: Date }
    | { status: "failed"; output?: undefined; error: unknown; completedAt: Date }
  );

/** The status of a run. */
export type WorkflowRunStatus = WorkflowRun["status"];

/** A run without its payloads. */
export type WorkflowRunWithoutData = Omit<WorkflowRun, "input" | "output"> & {
  input: undefined;
  output: undefined;
};

/** A step. `attempt` counts starts; `error` stays after a later start. */
export interface Step {
  runId: string;
  stepId: string;
  stepName: string;
  /** `cancelled` is in the published type and never written. */
  status: "pending" | "running" | "completed" | "failed" | "cancelled";
  input?: unknown;
  output?: unknown;
  error?: unknown;
  attempt: number;
  /** Of the first start. */
  startedAt?: Date | undefined;
  completedAt?: Date | undefined;
  createdAt: Date;
  updatedAt: Date;
  retryAfter?: Date | undefined;
  specVersion?: number | undefined;
}

/** A step without its payloads. */
export type StepWithoutData = Omit<Step, "input" | "output"> & { input: undefined; output: undefined };

/** A live hook: it has no status, and none is left once its run is over. */
export interface Hook {
  runId: string;
  hookId: string;
  token: string;
  ownerId: string;
  projectId: string;
  environment: string;
  metadata?: unknown;
  createdAt: Date;
  specVersion?: number | undefined;
  isWebhook?: boolean | undefined;
  isSystem?: boolean | undefined;
}

/** A wait for an instant. */
export interface Wait {
  waitId: string;
  runId: string;
  status: "waiting" | "completed";
  resumeAt?: Date | undefined;
  completedAt?: Date | undefined;
  createdAt: Date;
  updatedAt: Date;
  specVersion?: number | undefined;
}
