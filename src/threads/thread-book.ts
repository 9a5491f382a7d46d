/**
 * What a run knows of its thread and writes of it: the record it began with, what it adds, and the changes and checkpoints made of
 * that. It decides nothing.
 *
 * Invariants:
 * - B1 A change's whole checkpoint is what the thread was when the change was made, whenever it is asked for.
 * - B2 What is recorded is a copy of its own: neither the function nor a listener can alter it.
 */
import type { CheckpointChange, RunBeginning, SettledStep } from "./checkpoint-writer.ts";
import type { GraphCheckpoint, GraphStatus, PendingInterrupt } from "./graph-types.ts";
import { toCheckpoint } from "./migration.ts";
import {
  type RecordedStep,
  recordedIn,
  type StepRecord,
  type StepsPrefix,
  shownState,
  writtenState,
} from "./recorded-steps.ts";
import type { Opening } from "./thread-opening.ts";
import type { WorkflowState } from "./types.ts";

export interface BookOptions extends Omit<Opening, "writer" | "tenantId"> {
  readonly threadId: string;
  readonly workflow: string;
  readonly now: () => Date;
}

/** What a change says beside what follows from the run. */
export interface ChangeFacts {
  readonly status: GraphStatus;
  readonly settled?: SettledStep;
  readonly interrupts?: readonly PendingInterrupt[];
  readonly asked?: ReadonlyMap<string, string>;
  readonly output?: StepRecord;
  readonly error?: { readonly name: string; readonly message: string };
  readonly drained?: { readonly reason?: string; readonly at: string };
}

export class ThreadBook {
  readonly #options: BookOptions;
  /** The thread's own copy. */
  readonly input: unknown;
  /** What was recorded when the run began, by key, with its place in the order. */
  readonly recorded: ReadonlyMap<string, { readonly place: number; readonly record: StepRecord }>;
  /** All answers. */
  readonly answers: ReadonlyMap<string, unknown>;
  readonly asked: ReadonlyMap<string, string>;
  readonly #list: RecordedStep[];
  #step: number;
  #begun = false;
  #shownInput: { readonly value: unknown } | undefined;

  /** Throws `DataCloneError` for a beginning that cannot be copied. */
  constructor(options: BookOptions) {
    this.#options = options;
    const { latest, input, answers, step } = options;
    const state = latest?.state;
    this.input = structuredClone(
      latest === undefined ? input : (state as { input?: unknown } | undefined)?.input,
    );
    this.#list = structuredClone(recordedIn(state));
    this.recorded = new Map(this.#list.map(([key, record], place) => [key, { place, record }]));
    this.answers = structuredClone(new Map([...Object.entries(latest?.resolved ?? {}), ...answers]));
    this.asked = new Map(Object.entries(latest?.asked ?? {}));
    this.#step = step;
  }

  /** How many steps are recorded. */
  get count(): number {
    return this.#list.length;
  }

  /** Number of the change made last. */
  get step(): number {
    return this.#step;
  }

  /** Records a step and makes the change that says so. */
  settle(settled: SettledStep): CheckpointChange {
    this.#list.push([settled.key, settled.record]);
    return this.change({ status: "running", settled });
  }

  change(facts: ChangeFacts): CheckpointChange {
    this.#step += 1;
    const { threadId, workflow, metadata, from, answers, now } = this.#options;
    const step = this.#step;
    const createdAt = now().toISOString();
    const prefix = this.prefix();
    const begins: RunBeginning = { from, input: this.input };
    const first = !this.#begun && { begins, ...(answers.size > 0 && { answers: this.#given() }) };
    this.#begun = true;
    return {
      threadId,
      workflow,
      step,
      createdAt,
      metadata,
      ...first,
      ...facts,
      whole: () => this.#checkpoint({ step, createdAt, prefix, facts }),
    };
  }

  prefix(): StepsPrefix {
    return { input: this.input, list: this.#list, count: this.#list.length };
  }

  /** A state for somebody outside. */
  shown(prefix: StepsPrefix, output?: StepRecord): WorkflowState {
    this.#shownInput ??= { value: structuredClone(this.input) };
    return shownState(prefix, this.#shownInput.value, output);
  }

  #given(): ReadonlyMap<string, unknown> {
    return new Map([...this.#options.answers.keys()].map((id) => [id, this.answers.get(id)]));
  }

  #checkpoint(parts: {
    readonly step: number;
    readonly createdAt: string;
    readonly prefix: StepsPrefix;
    readonly facts: ChangeFacts;
  }): GraphCheckpoint {
    const { step, createdAt, prefix, facts } = parts;
    const { threadId, workflow, metadata } = this.#options;
    const { status, interrupts = [], error, drained, output } = facts;
    const asked = new Map([...this.asked, ...(facts.asked ?? [])]);
    return toCheckpoint({
      threadId,
      step,
      state: writtenState(prefix, output) as unknown as Record<string, unknown>,
      next: status === "completed" ? [] : [workflow],
      status,
      interrupts: [...interrupts],
      resolved: Object.fromEntries(this.answers),
      ...(asked.size > 0 && { asked: Object.fromEntries(asked) }),
      ...(error !== undefined && { error: { ...error } }),
      ...(drained !== undefined && { drained: { ...drained } }),
      createdAt,
      metadata: { ...metadata },
    });
  }
}
