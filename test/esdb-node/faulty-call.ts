/** Puts a fault around one call: what happens before the work, and what becomes of its answer. */
import type { Failure } from "./failures.ts";
import { notLeader, serverBusy, serverGone, serverTimeout } from "./failures.ts";
import type { Fault } from "./faults.ts";

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The failure with which the call is refused, nothing having been done. */
export const refusal = (fault: Fault | undefined): Failure | undefined => {
  switch (fault?.kind) {
    case "timeoutBefore":
      return serverTimeout();
    case "notLeader":
      return notLeader(fault.leader ?? { host: "127.0.0.1", port: 1 });
    case "busy":
      return serverBusy();
    case "cancelled":
    case "unavailable":
      return serverGone(fault.kind);
    default:
      return undefined;
  }
};

/** What is said instead of the answer, the work having been done: a failure, or never anything. */
export const afterwards = (fault: Fault | undefined): Failure | "nothing" | undefined => {
  switch (fault?.kind) {
    case "timeoutAfter":
      return serverTimeout();
    case "cancelledAfter":
      return serverGone("cancelled");
    case "unavailableAfter":
      return serverGone("unavailable");
    case "drop":
      return "nothing";
    default:
      return undefined;
  }
};

type Callback<Answer> = (error: Partial<Failure> | null, answer?: Answer) => void;

/** Does `work` under `fault` and answers a call that has one answer. */
export const answerOnce = async <Answer>(
  fault: Fault | undefined,
  callback: Callback<Answer>,
  work: () => Promise<Answer | { readonly failure: Failure }>,
): Promise<void> => {
  const refused = refusal(fault);
  if (refused !== undefined) return callback(refused);
  if (fault?.kind === "stall") await pause(fault.delayMs ?? 0);
  const answer = await work();
  if (fault?.kind === "delay") await pause(fault.delayMs ?? 0);
  const instead = afterwards(fault);
  if (instead === "nothing") return;
  if (instead !== undefined) return callback(instead);
  if (typeof answer === "object" && answer !== null && "failure" in answer) return callback(answer.failure);
  callback(null, answer as Answer);
};
