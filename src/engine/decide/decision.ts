/**
 * What a decision is: from a run's state, either a rejection, or the events that make something true and the answer to the caller.
 *
 * Decisions are pure and can be taken again on a newer state: commands are re-decidable, events are not. No events means that it
 * was true already, so a command that comes twice does no harm.
 */
import { type Either, left, right } from "fp-ts/lib/Either.js";
import type { RunEvent } from "../../events/catalogue.ts";
import type { RunState } from "../../projections/run-state.ts";

export interface Decision<A> {
  readonly events: readonly RunEvent[];
  readonly answer: A;
}

/** Why a command is refused. Told apart by `_tag`. */
export type Rejection =
  | { readonly _tag: "RunExists" }
  | { readonly _tag: "RunMissing" }
  /** The run is over, and nothing changes a settled run (law L4). */
  | { readonly _tag: "RunSettled" }
  /** Its payloads are sealed and cannot be read here: nothing is written beside them that is not. */
  | { readonly _tag: "PayloadsErased" }
  | { readonly _tag: "PayloadsLocked" };

export type Decide<A> = (state: RunState) => Either<Rejection, Decision<A>>;

const none: readonly RunEvent[] = [];

export const decided = <A>(answer: A, ...events: readonly RunEvent[]): Either<never, Decision<A>> =>
  right({ events, answer });

export const already = <A>(answer: A): Either<never, Decision<A>> => right({ events: none, answer });

export const rejected = (tag: Rejection["_tag"]): Either<Rejection, never> => left({ _tag: tag });
