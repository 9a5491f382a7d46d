/**
 * Checkpoints of schema version 1 as version 2, and checkpoints from their parts. Reading only: nothing stored is rewritten.
 */
import type { GraphCheckpoint, GraphTask, StoredGraphCheckpoint } from "./graph-types.ts";

/** A checkpoint without what follows from the rest of it. */
export type CheckpointDraft<S = Record<string, unknown>> = Omit<
  GraphCheckpoint<S>,
  "version" | "id" | "tasks" | "interrupts"
> &
  Partial<Pick<GraphCheckpoint<S>, "version" | "id" | "tasks" | "interrupts">>;

const tasksFor = (next: readonly string[]): GraphTask[] => next.map((node) => ({ id: node, node }));

/** A whole checkpoint. Its id always follows from thread and number, so that a copy under another thread does not keep the old one. */
export const toCheckpoint = <S = Record<string, unknown>>(draft: CheckpointDraft<S>): GraphCheckpoint<S> => ({
  ...draft,
  version: 2,
  id: `${draft.threadId}:${draft.step}`,
  tasks: draft.tasks ?? tasksFor(draft.next),
  interrupts: draft.interrupts ?? [],
});

/** The checkpoint in schema version 2; one that is in it already is answered as it is, the same object. */
export const migrateCheckpoint = <S = Record<string, unknown>>(
  stored: StoredGraphCheckpoint<S>,
): GraphCheckpoint<S> => {
  if (stored.version === 2) return stored;
  const { interrupt, ...rest } = stored;
  return toCheckpoint<S>({
    ...rest,
    version: 2,
    interrupts: stored.interrupts ?? (interrupt === undefined ? [] : [interrupt]),
  });
};
