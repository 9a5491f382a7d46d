/**
 * One clear English line for an event of a run or a thread, for the CLI and for logs.
 *
 * Text from outside is quoted and free of control characters, so that a name cannot play tricks on a terminal. A payload is shown as
 * the beginning of its JSON. Steps go by their keys, waits by their names.
 */
import { isSdkEvent, isThreadEvent, payloadFields, type RunEvent } from "../events/catalogue.ts";
import type { Payload } from "../events/payload.ts";
import { escapeControls, PREVIEW_LENGTH, plain, preview, quoted } from "./event-words.ts";
import type { HistoryEntry } from "./history.ts";
import { isDeadlineKey } from "./hook-keys.ts";
import { cutsSdkBytes, describeSdkEvent } from "./sdk-event-line.ts";
import { describeThreadEvent } from "./thread-event-line.ts";

/** Claims are held by UUIDs; so much of one tells people which is which. */
const UUID = /^([0-9a-f]{8})-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** What happened, without when: entries carry their own instants. */
export const describeEvent = ({ event }: Pick<HistoryEntry, "event">): string => {
  if (isSdkEvent(event)) return describeSdkEvent(event);
  return isThreadEvent(event) ? describeThreadEvent(event) : describe(event);
};

/** Whether the line of {@link describeEvent} shows a payload that is longer than what is shown. */
export const cutsPayload = ({ event }: Pick<HistoryEntry, "event">): boolean => {
  if (isSdkEvent(event)) return cutsSdkBytes(event);
  const data: Readonly<Record<string, unknown>> = event.data;
  return payloadFields(event.type).some((field) => {
    const payload = field === UNSHOWN ? undefined : (data[field] as Payload | undefined);
    return payload !== undefined && escapeControls(JSON.stringify(payload.json)).length > PREVIEW_LENGTH;
  });
};

/** No line shows it. */
const UNSHOWN = "metadata";

const describe = (event: RunEvent): string => {
  switch (event.type) {
    case "RunCreated": {
      const { workflow, key, input } = event.data;
      const named = key === undefined ? "" : ` under key ${quoted(key)}`;
      return `Run of workflow ${quoted(workflow)} created${named}, input ${preview(input)}`;
    }
    case "RunStarted":
      return "Run started";
    case "RunCompleted":
      return `Run completed, output ${preview(event.data.output)}`;
    case "RunFailed":
      return `Run failed: ${plain(event.data.error.message)}`;
    case "RunCancelled":
      return `Run cancelled${event.data.reason === undefined ? "" : `: ${plain(event.data.reason)}`}`;
    case "AttemptClaimed":
      return `Step ${quoted(event.data.key)} claimed by ${holderTitle(event.data.holder)}`;
    case "AttemptReleased":
      return `Step ${quoted(event.data.key)} given back by ${holderTitle(event.data.holder)} without running it`;
    case "StepRetried": {
      const { key, attempt, maxAttempts, delayMs, error } = event.data;
      const of = Number.isFinite(maxAttempts) ? ` of ${maxAttempts}` : "";
      const again = delayMs > 0 ? `in ${formatDuration(delayMs)}` : "at once";
      return `Step ${quoted(key)} failed on attempt ${attempt}${of}, trying again ${again}: ${plain(error.message)}`;
    }
    case "StepSettled":
      return settled(event.data);
    case "SleepScheduled": {
      const { key, kind, wakeAt, correlationId } = event.data;
      const id = correlationId === undefined ? "" : ` (correlation id ${quoted(correlationId)})`;
      return kind === "hookTimeout"
        ? `Deadline of hook ${quoted(waitName(key))} set to ${formatInstant(wakeAt)}${id}`
        : `Sleep ${quoted(waitName(key))} until ${formatInstant(wakeAt)}${id}`;
    }
    case "SleepElapsed":
      return `${wait(event.data.key)} elapsed`;
    case "SleepWoken":
      return `${wait(event.data.key)} cut short`;
    case "HookOpened":
      return `Waiting for a signal to ${quoted(event.data.token)}`;
    case "HookDelivered":
      return `Hook ${quoted(waitName(event.data.key))} answered with ${preview(event.data.payload)}`;
    case "HookClosed":
      return `Hook ${quoted(waitName(event.data.key))} closed unanswered`;
    default:
      return event satisfies never;
  }
};

const settled = (data: Extract<RunEvent, { type: "StepSettled" }>["data"]): string => {
  const { key, status, output, error, attempts, startedAt, finishedAt } = data;
  const read = /^(now|random|uuid)!/.exec(key)?.[1];
  if (read !== undefined) return `Read ${READS[read as keyof typeof READS]}: ${preview(output)}`;
  const took = startedAt === undefined ? "" : ` in ${formatDuration(finishedAt - startedAt)}`;
  const tries = attempts > 1 ? ` on attempt ${attempts}` : "";
  return status === "ok"
    ? `Step ${quoted(key)} succeeded${tries}${took}, result ${preview(output)}`
    : `Step ${quoted(key)} failed for good${tries}${took}: ${plain(error?.message ?? "no reason recorded")}`;
};

const READS = { now: "the clock", random: "a random number", uuid: "a new UUID" } as const;

/** What people call the wait with the key of a sleep, hook or deadline: its name, with `#n` from the second of that name on. */
export const waitName = (key: string): string =>
  key.replace(/^(?:sleep|hook|hookTimeout)!/, "").replace(/#0$/, "");

const holderTitle = (holder: string): string => UUID.exec(holder)?.[1] ?? quoted(holder);

const wait = (key: string): string =>
  isDeadlineKey(key) ? `Deadline of hook ${quoted(waitName(key))}` : `Sleep ${quoted(waitName(key))}`;

/** A duration in milliseconds, for people: `350 ms`, `1.2 s`, `3 min 20 s`, `2 d 4 h`. */
export const formatDuration = (ms: number): string => {
  if (!Number.isFinite(ms)) return ms > 0 ? "for ever" : `${ms} ms`;
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${Number((ms / 1_000).toFixed(1))} s`;
  for (const [unit, size, nextUnit, nextSize] of UNITS) {
    if (ms < size) continue;
    const whole = Math.floor(ms / size);
    const rest = Math.floor((ms - whole * size) / nextSize);
    return `${whole} ${unit}${rest === 0 ? "" : ` ${rest} ${nextUnit}`}`;
  }
  return "1 min";
};

const UNITS = [
  ["d", 86_400_000, "h", 3_600_000],
  ["h", 3_600_000, "min", 60_000],
  ["min", 60_000, "s", 1_000],
] as const;

/** An instant in epoch milliseconds as ISO 8601 in UTC; what no calendar holds, as a number. */
export const formatInstant = (ms: number): string => {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms after 1970` : date.toISOString();
};
