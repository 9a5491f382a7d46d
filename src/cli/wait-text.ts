/** What a run waits for, in words. */
import { formatDuration, formatInstant, waitName } from "../projections/event-line.ts";
import type { Awaited } from "../projections/run-report.ts";
import { harmless } from "./terminal.ts";

/** As in "it waits for …". `now` in epoch milliseconds. */
export const waitText = (wait: Awaited, now = Date.now()): string => {
  if (wait.kind === "sleep") {
    const id = wait.correlationId === undefined ? "" : `, correlation id ${quoted(wait.correlationId)}`;
    return `the end of sleep ${quoted(waitName(wait.key))} ${untilText(wait.until, now)}${id}`;
  }
  if (wait.kind === "question")
    return `an answer to ${quoted(wait.key)}, asked ${formatDuration(Math.max(0, now - wait.since))} ago: ${harmless(wait.reason)}`;
  const until = wait.until === undefined ? "without a deadline" : untilText(wait.until, now);
  return `a signal to ${quoted(wait.token)} ${until}, asked ${formatDuration(Math.max(0, now - wait.since))} ago`;
};

const untilText = (until: number, now: number): string => {
  const left = until - now;
  const distance = left >= 0 ? `in ${formatDuration(left)}` : `due for ${formatDuration(-left)}`;
  return `until ${formatInstant(until)} (${distance})`;
};

const quoted = (text: string): string => harmless(JSON.stringify(text));
