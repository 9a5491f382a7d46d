/**
 * One clear English line for an event of a run of the Workflow SDK; the rules are those of event-line. Steps go by their names and the
 * end of their ids, payloads by the text that the SDK wrote, where it is text.
 */
import { type SdkBytes, type SdkEvent, type SdkEventName, sdkNameOf } from "../events/sdk-runs.ts";
import { escapeControls, PREVIEW_LENGTH, plain, quoted } from "./event-words.ts";

/** Ids are ULIDs with a prefix; so much of their end tells people which is which. */
const TAIL = 6;

export const describeSdkEvent = ({ type, data }: SdkEvent): string => {
  const fields = (data.eventData?.json ?? {}) as Readonly<Record<string, unknown>>;
  const value = preview(data.bytes);
  const id = tailOf(data.correlationId);
  const step = fields.stepName === undefined ? `Step ${id}` : `Step ${quoted(String(fields.stepName))} ${id}`;
  const lines: { readonly [N in SdkEventName]: () => string } = {
    run_created: () => `Run of workflow ${quoted(String(fields.workflowName))} created, input ${value}`,
    run_started: () => "Run started",
    run_completed: () => `Run completed, output ${value}`,
    run_failed: () => `Run failed${codeOf(fields.errorCode)}: ${value}`,
    run_cancelled: () =>
      `Run cancelled${fields.cancelReason === undefined ? "" : `: ${plain(String(fields.cancelReason))}`}`,
    attr_set: () => `Attributes set: ${shortened(JSON.stringify(fields.changes))}`,
    step_created: () => `${step} created, input ${value}`,
    step_started: () => `${step} started`,
    step_completed: () => `${step} succeeded, result ${value}`,
    step_failed: () => `${step} failed for good: ${value}`,
    step_retrying: () =>
      `${step} failed, to be tried again${instantOf(" from ", fields.retryAfter, " on")}: ${value}`,
    hook_created: () => `Hook ${id} opened under ${quoted(String(fields.token))}`,
    hook_received: () => `Hook ${id} received ${value}`,
    hook_disposed: () => `Hook ${id} disposed`,
    hook_conflict: () =>
      `Hook ${id} refused: ${quoted(String(fields.token))} is held by run ${plain(String(fields.conflictingRunId))}`,
    wait_created: () => `Wait ${id}${instantOf(" until ", fields.resumeAt)}`,
    wait_completed: () => `Wait ${id} over`,
  };
  return lines[sdkNameOf(type) as SdkEventName]();
};

/** Whether the line shows a payload that is longer than what is shown. */
export const cutsSdkBytes = ({ data: { bytes } }: SdkEvent): boolean =>
  bytes !== undefined && whole(bytes).length > PREVIEW_LENGTH;

const tailOf = (id: string | undefined): string => (id === undefined ? "" : `…${plain(id.slice(-TAIL))}`);

const codeOf = (code: unknown): string => (code === undefined ? "" : ` (${plain(String(code))})`);

const instantOf = (before: string, instant: unknown, after = ""): string =>
  instant === undefined ? "" : `${before}${plain(String(instant))}${after}`;

const whole = (bytes: SdkBytes): string => ("text" in bytes ? plain(bytes.text) : `base64 ${bytes.base64}`);

const shortened = (text: string): string => {
  const escaped = escapeControls(text);
  return escaped.length <= PREVIEW_LENGTH ? escaped : `${escaped.slice(0, PREVIEW_LENGTH - 1)}…`;
};

const preview = (bytes: SdkBytes | undefined): string =>
  bytes === undefined ? "nothing" : shortened(whole(bytes));
