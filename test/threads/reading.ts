/** Reads streams of a run to their end, and remembers what a listener was told. */
import { expect } from "vitest";
import type { GraphEvent, StoredGraphCheckpoint, WorkflowState } from "../../src/threads/index.ts";

export const listed = async <T>(events: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const event of events) all.push(event);
  return all;
};

/** The last event; the stream must have one. */
export const last = async <T>(events: AsyncIterable<T>): Promise<T> => {
  const event = (await listed(events)).at(-1);
  return event ?? expect.fail("the stream ended without an event");
};

/** The steps that a workflow's checkpoint holds. */
export const stepsIn = (
  checkpoint: Pick<StoredGraphCheckpoint, "state"> | undefined,
): WorkflowState["steps"] => (checkpoint?.state as WorkflowState | undefined)?.steps ?? {};

/** What `work` rejects with; that it does is part of the test. */
export const failureOf = async (work: Promise<unknown>): Promise<unknown> => {
  const answer = await work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  return "error" in answer ? answer.error : expect.fail(`resolved with ${JSON.stringify(answer.value)}`);
};

/** A listener, and what it heard. */
export const listener = () => {
  const heard: GraphEvent[] = [];
  return {
    heard,
    onEvent: (event: GraphEvent): void => void heard.push(event),
    types: () => heard.map(({ type }) => type),
    of: (type: GraphEvent["type"]) => heard.filter((event) => event.type === type),
  };
};
