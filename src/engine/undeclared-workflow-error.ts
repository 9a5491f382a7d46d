/** UndeclaredWorkflowError: a delivery reached a worker that does not declare the run's workflow. Nothing about the run was changed. */
import type { RunRecord } from "./journal-store.ts";

export class UndeclaredWorkflowError extends Error {
  override readonly name = "UndeclaredWorkflowError";
  readonly workflow: string;

  constructor({ runId, workflow }: Pick<RunRecord, "runId" | "workflow">) {
    super(
      `Workflow ${JSON.stringify(workflow)} is no longer declared, so run ${JSON.stringify(runId)} cannot go on. ` +
        "Deploy it again under that name, or start the work under another one.",
    );
    this.workflow = workflow;
  }

  static is(value: unknown): value is UndeclaredWorkflowError {
    return value instanceof Error && value.name === "UndeclaredWorkflowError";
  }
}
