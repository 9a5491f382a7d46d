/** What is asked of a run of the Workflow SDK, and what a decision about it consists of. */
import type { Either } from "fp-ts/lib/Either.js";
import type {
  CreateEventParams,
  CreateEventRequest,
  Event,
  EventResult,
  RunCreatedEventRequest,
} from "../../executor/world-events.ts";
import type { SdkRunState } from "./run-fold.ts";
import type { Decision } from "./stream-session.ts";

/** What is asked of a run. */
export interface SdkRequest<R extends AnyRequest = AnyRequest> {
  readonly runId: string;
  readonly event: R;
  readonly params: CreateEventParams;
  /** Epoch milliseconds. */
  readonly now: number;
  /** For `hook_created`: the run that holds the token, where another hook does. */
  readonly tokenHeldBy?: string;
}

export type AnyRequest = RunCreatedEventRequest | CreateEventRequest;
export type RequestOf<T extends AnyRequest["eventType"]> = Extract<AnyRequest, { eventType: T }>;
export type Verdict = Either<Error, Decision<SdkRunState, Event, EventResult>>;

/** Turns requests into events, each after the one before. */
export type Mint = (event: object, fromOutside?: boolean) => Event;
