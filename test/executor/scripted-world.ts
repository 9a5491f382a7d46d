/**
 * A World in memory that keeps the rules of steps, records what it is asked, and can be told to answer otherwise: to refuse the next
 * event of a type, or to hold its answer back. What the executor must never ask for throws.
 */
import {
  type CreateEventParams,
  type CreateEventRequest,
  EntityConflictError,
  type Event,
  type EventResult,
  type Hook,
  type RunCreatedEventRequest,
  RunExpiredError,
  type Step,
  TooEarlyError,
  WorkflowWorldError,
  type World,
} from "../../src/executor/index.ts";

/** One call of `events.create`. */
export interface Call {
  readonly type: string;
  readonly request: CreateEventRequest;
  /** As it was given; the call had two arguments where there is none. */
  readonly params: CreateEventParams | undefined;
  readonly argumentCount: number;
}

/** What happens instead of, or before, the next event of a type. */
export type Act = () => Promise<EventResult | undefined> | EventResult | undefined;

interface StreamState {
  readonly chunks: Uint8Array[];
  closed: boolean;
  readonly followers: Set<() => void>;
}

const unasked = (what: string) => (): never => {
  throw new Error(`the executor asked for ${what}`);
};

export class ScriptedWorld implements World {
  readonly specVersion = 5;
  readonly calls: Call[] = [];
  readonly log: Event[] = [];
  readonly entities = new Map<string, Step>();
  readonly hooksByToken = new Map<string, Hook>();
  readonly streamStates = new Map<string, StreamState>();
  readonly keyRequests: (readonly unknown[])[] = [];
  runOver = false;
  encryptionKey: Uint8Array | undefined;
  readonly #script = new Map<string, Act[]>();

  /** The next event of this type meets these acts, one each. An act that answers nothing lets the event through. */
  on(type: string, ...acts: Act[]): this {
    this.#script.set(type, [...(this.#script.get(type) ?? []), ...acts]);
    return this;
  }

  /** The next event of this type is refused. */
  refuse(type: string, error: unknown): this {
    return this.on(type, () => Promise.reject(error));
  }

  /** A step that is there already. */
  given(step: Pick<Step, "stepId" | "input"> & Partial<Step>): this {
    const at = new Date(1_000);
    const entity: Step = {
      runId: "wrun_1",
      stepName: "step",
      status: "pending",
      attempt: 0,
      createdAt: at,
      updatedAt: at,
      ...step,
    };
    this.entities.set(step.stepId, entity);
    return this;
  }

  /** The calls of one type. */
  asked(type: string): Call[] {
    return this.calls.filter((call) => call.type === type);
  }

  /** The types of the calls, in order. */
  get types(): string[] {
    return this.calls.map(({ type }) => type);
  }

  readonly events: World["events"] = {
    create: async (
      ...args: [string | null, CreateEventRequest | RunCreatedEventRequest, CreateEventParams?]
    ): Promise<EventResult> => {
      const request = args[1] as CreateEventRequest;
      this.calls.push({ type: request.eventType, request, params: args[2], argumentCount: args.length });
      const act = this.#script.get(request.eventType)?.shift();
      return (await act?.()) ?? this.#apply(args[0] ?? "wrun_1", request);
    },
    get: unasked("events.get"),
    list: unasked("events.list"),
    listByCorrelationId: unasked("events.listByCorrelationId"),
  };

  #apply(runId: string, request: CreateEventRequest): EventResult {
    const event = {
      ...request,
      runId,
      eventId: `evnt_${this.log.length}`,
      createdAt: new Date(),
    } as Event;
    if (!request.eventType.startsWith("step_")) {
      this.log.push(event);
      return { event };
    }
    const result = this.#applyToStep(runId, request);
    this.log.push(event);
    return { ...result, event };
  }

  #applyToStep(runId: string, request: CreateEventRequest): EventResult {
    const id = request.correlationId!;
    const data = (request.eventData ?? {}) as Record<string, unknown>;
    const known = this.entities.get(id);
    if (request.eventType === "step_started" && data.input !== undefined) {
      if (known !== undefined) throw new EntityConflictError(`step ${id} exists`);
      if (this.runOver) throw new EntityConflictError("the run is over");
      this.given({ stepId: id, runId, input: data.input, stepName: String(data.stepName) });
      return { ...this.#started(id), stepCreated: true };
    }
    if (known === undefined) throw new WorkflowWorldError(`step ${id} not found`, { status: 404 });
    if (known.status === "completed" || known.status === "failed") {
      throw new EntityConflictError(`step ${id} is over`);
    }
    if (this.runOver && known.status !== "running") throw new RunExpiredError("the run is over");
    switch (request.eventType) {
      case "step_started":
        if (known.retryAfter !== undefined && known.retryAfter.getTime() > Date.now()) {
          const left = Math.ceil((known.retryAfter.getTime() - Date.now()) / 1000);
          throw new TooEarlyError("not yet", { retryAfter: left });
        }
        return this.#started(id);
      case "step_completed":
        return this.#changed(id, { status: "completed", output: data.result, completedAt: new Date() });
      case "step_failed":
        return this.#changed(id, { status: "failed", error: data.error, completedAt: new Date() });
      default:
        return this.#changed(id, {
          status: "pending",
          error: data.error,
          retryAfter: data.retryAfter as Date | undefined,
        });
    }
  }

  #started(id: string): EventResult {
    const { attempt, startedAt } = this.entities.get(id)!;
    return this.#changed(id, {
      status: "running",
      attempt: attempt + 1,
      startedAt: startedAt ?? new Date(),
      retryAfter: undefined,
    });
  }

  #changed(id: string, change: Partial<Step>): EventResult {
    const step = { ...this.entities.get(id)!, ...change, updatedAt: new Date() };
    this.entities.set(id, step);
    return { step };
  }

  readonly hooks: World["hooks"] = {
    get: unasked("hooks.get"),
    getByToken: async (token) => this.hooksByToken.get(token)!,
    list: unasked("hooks.list"),
  };

  #stream(name: string): StreamState {
    const found = this.streamStates.get(name) ?? { chunks: [], closed: false, followers: new Set() };
    this.streamStates.set(name, found);
    return found;
  }

  readonly streams: World["streams"] = {
    write: async (_runId, name, chunk) => {
      const stream = this.#stream(name);
      stream.chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk.slice());
      for (const wake of stream.followers) wake();
    },
    close: async (_runId, name) => {
      const stream = this.#stream(name);
      stream.closed = true;
      for (const wake of stream.followers) wake();
    },
    get: async (_runId, name, startIndex = 0) => {
      const stream = this.#stream(name);
      let at = startIndex;
      let wake: (() => void) | undefined;
      return new ReadableStream<Uint8Array>(
        {
          pull: async (controller) => {
            while (at >= stream.chunks.length && !stream.closed) {
              await new Promise<void>((resolve) => {
                wake = resolve;
                stream.followers.add(resolve);
              });
            }
            if (at < stream.chunks.length) controller.enqueue(stream.chunks[at++]!);
            else controller.close();
          },
          cancel: () => {
            if (wake !== undefined) stream.followers.delete(wake);
          },
        },
        { highWaterMark: 0 },
      );
    },
    list: unasked("streams.list"),
    getChunks: unasked("streams.getChunks"),
    getInfo: unasked("streams.getInfo"),
  };

  getEncryptionKeyForRun = async (...args: readonly unknown[]): Promise<Uint8Array | undefined> => {
    this.keyRequests.push(args);
    return this.encryptionKey;
  };

  readonly runs: World["runs"] = { get: unasked("runs.get"), list: unasked("runs.list") };
  readonly steps: World["steps"] = { get: unasked("steps.get"), list: unasked("steps.list") };
  getDeploymentId = unasked("getDeploymentId");
  queue = unasked("a message to be enqueued");
  createQueueHandler = unasked("createQueueHandler");
}
