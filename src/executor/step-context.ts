/**
 * What a step's body can find out about itself, and what it can leave behind for the executor. The place it is kept in is the Workflow
 * SDK's own (an `AsyncLocalStorage` in the symbol registry), so that `getStepMetadata`, `getWorkflowMetadata` and `getWritable` of the
 * SDK work in a body that this executor runs.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { EncryptionKey } from "./encryption.ts";

/** The context of one attempt. */
export interface StepContext {
  readonly stepMetadata: {
    readonly stepName: string;
    readonly stepId: string;
    /** Of the step's first start. */
    readonly stepStartedAt: Date;
    /** From 1. */
    readonly attempt: number;
  };
  readonly workflowMetadata: {
    readonly workflowName: string;
    readonly workflowRunId: string;
    readonly workflowStartedAt: Date;
    /** Where this deployment answers. */
    readonly url: string;
    readonly features: { readonly encryption: boolean };
  };
  readonly workflowDeploymentId?: string;
  /** The first run of this run's line of ancestors. */
  readonly rootRunId?: string;
  /** Work that goes on after the body, such as writing a stream: waited for a moment, then handed to the platform. */
  readonly ops: Promise<unknown>[];
  /** Work that must be over before the outcome is written; errors are ignored. */
  readonly preCompletionOps: Promise<unknown>[];
  readonly closureVars?: Record<string, unknown>;
  readonly encryptionKey?: EncryptionKey;
  /** The SDK's cache of streams handed out by `getWritable`. */
  readonly writables: Map<string, unknown>;
  /** Only while the body overlaps its own start: await it before writing to the World directly. */
  readonly runReadyBarrier?: Promise<unknown>;
}

const STORAGE = Symbol.for("WORKFLOW_STEP_CONTEXT_STORAGE");

const storage = (): AsyncLocalStorage<StepContext> => {
  const holder = globalThis as unknown as Record<symbol, AsyncLocalStorage<StepContext> | undefined>;
  holder[STORAGE] ??= new AsyncLocalStorage();
  return holder[STORAGE];
};

/** The context of the step whose body is running; `undefined` outside one. */
export const stepContext = (): StepContext | undefined => storage().getStore();

/** Runs `body` so that {@link stepContext} answers `context` in it and in everything it starts. */
export const inStepContext = <T>(context: StepContext, body: () => T): T => storage().run(context, body);
