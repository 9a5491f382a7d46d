/**
 * Recovery at the start of a worker: runs that wait for a message which was never sent get one.
 *
 * Messages that were sent need none of this: they are in the log until they are done. What a crash can leave behind is a run that was
 * created, or that received something, right before the message about it would have been sent.
 */
import type { EventLog, Position } from "../../events/event-log.ts";
import { comparePositions } from "../../events/event-log.ts";
import { type SdkEventName, sdkNameOf, sdkTypeOf } from "../../events/sdk-runs.ts";
import { runIdOf, sdkQueueRunIdOf } from "../../events/stream-names.ts";

export interface StrandedRun {
  readonly runId: string;
  readonly workflowName: string;
}

interface Seen {
  workflowName: string | undefined;
  queued: boolean;
  /** Something happened that no message tells the run of yet. */
  owed: boolean;
}

const ENDS = ["run_completed", "run_failed", "run_cancelled"] as const satisfies readonly SdkEventName[];
const TYPES = [
  ...(["run_created", "hook_received", ...ENDS] as const).map(sdkTypeOf),
  "SdkMessageQueued" as const,
];

/** The runs that need a message, as the log stands when this is called. One pass over what was created, received, sent and ended. */
export const strandedRuns = async (log: EventLog): Promise<readonly StrandedRun[]> => {
  const head = await log.head();
  const runs = new Map<string, Seen>();
  if (head !== undefined)
    for await (const { stream, type, data, position } of log.readAll({ filter: { types: TYPES } })) {
      if (isAfter(position, head)) break;
      const name = sdkNameOf(type);
      const runId = name === undefined ? sdkQueueRunIdOf(stream) : runIdOf(stream);
      if (runId === undefined) continue;
      if (ENDS.some((end) => end === name)) {
        runs.delete(runId);
        continue;
      }
      const seen = runs.get(runId) ?? { workflowName: undefined, queued: false, owed: false };
      runs.set(runId, seen);
      if (name === undefined) {
        seen.queued = true;
        seen.owed = false;
      } else if (name === "hook_received") seen.owed = true;
      else seen.workflowName = (data.eventData as { workflowName?: string } | undefined)?.workflowName;
    }
  const stranded: StrandedRun[] = [];
  for (const [runId, { workflowName, queued, owed }] of runs)
    if (workflowName !== undefined && (owed || !queued)) stranded.push({ runId, workflowName });
  return stranded;
};

const isAfter = (position: Position, head: Position): boolean => comparePositions(position, head) > 0;
