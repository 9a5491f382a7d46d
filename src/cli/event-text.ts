/** One line of a terminal for an event of a run: a sign, and what happened. */
import type { HistoryEvent } from "../events/catalogue.ts";
import { describeEvent } from "../projections/event-line.ts";
import type { HistoryEntry } from "../projections/history.ts";
import type { out } from "./terminal.ts";

type Paint = (colors: typeof out) => (text: string) => string;
interface Look {
  readonly sign: string;
  readonly paint?: Paint;
}

const LOOKS: { readonly [T in HistoryEvent["type"]]: Look } = {
  RunCreated: { sign: "●" },
  RunStarted: { sign: "▶" },
  AttemptClaimed: { sign: "·", paint: (colors) => colors.dim },
  AttemptReleased: { sign: "·", paint: (colors) => colors.dim },
  StepRetried: { sign: "↻", paint: (colors) => colors.yellow },
  StepSettled: { sign: "✓", paint: (colors) => colors.green },
  SleepScheduled: { sign: "◷", paint: (colors) => colors.blue },
  SleepElapsed: { sign: "◷", paint: (colors) => colors.blue },
  SleepWoken: { sign: "◷", paint: (colors) => colors.blue },
  HookOpened: { sign: "?", paint: (colors) => colors.magenta },
  HookDelivered: { sign: "!", paint: (colors) => colors.magenta },
  HookClosed: { sign: "!", paint: (colors) => colors.magenta },
  RunCompleted: { sign: "✓", paint: (colors) => (text) => colors.bold(colors.green(text)) },
  RunFailed: { sign: "✗", paint: (colors) => (text) => colors.bold(colors.red(text)) },
  ThreadStarted: { sign: "●" },
  ThreadContinued: { sign: "▶" },
  ThreadStepSettled: { sign: "✓", paint: (colors) => colors.green },
  ThreadQuestionAsked: { sign: "?", paint: (colors) => colors.magenta },
  ThreadAnswered: { sign: "!", paint: (colors) => colors.magenta },
  ThreadPaused: { sign: "?", paint: (colors) => colors.magenta },
  ThreadInterrupted: { sign: "✗", paint: (colors) => colors.yellow },
  ThreadCompleted: { sign: "✓", paint: (colors) => (text) => colors.bold(colors.green(text)) },
  ThreadFailed: { sign: "✗", paint: (colors) => (text) => colors.bold(colors.red(text)) },
  ThreadCheckpointPut: { sign: "●" },
  RunCancelled: { sign: "✗", paint: (colors) => (text) => colors.bold(colors.yellow(text)) },
  SdkRunCreated: { sign: "●" },
  SdkRunStarted: { sign: "▶" },
  SdkRunCompleted: { sign: "✓", paint: (colors) => (text) => colors.bold(colors.green(text)) },
  SdkRunFailed: { sign: "✗", paint: (colors) => (text) => colors.bold(colors.red(text)) },
  SdkRunCancelled: { sign: "✗", paint: (colors) => (text) => colors.bold(colors.yellow(text)) },
  SdkAttrSet: { sign: "·", paint: (colors) => colors.dim },
  SdkStepCreated: { sign: "·", paint: (colors) => colors.dim },
  SdkStepStarted: { sign: "·", paint: (colors) => colors.dim },
  SdkStepRetrying: { sign: "↻", paint: (colors) => colors.yellow },
  SdkStepCompleted: { sign: "✓", paint: (colors) => colors.green },
  SdkStepFailed: { sign: "✗", paint: (colors) => colors.red },
  SdkWaitCreated: { sign: "◷", paint: (colors) => colors.blue },
  SdkWaitCompleted: { sign: "◷", paint: (colors) => colors.blue },
  SdkHookCreated: { sign: "?", paint: (colors) => colors.magenta },
  SdkHookReceived: { sign: "!", paint: (colors) => colors.magenta },
  SdkHookDisposed: { sign: "!", paint: (colors) => colors.magenta },
  SdkHookConflict: { sign: "✗", paint: (colors) => colors.yellow },
};

const PLAIN_RESULTS: ReadonlySet<string> = new Set(["ThreadStepSettled", "SdkStepCompleted"]);

const FAILED_STEP: Look = { sign: "✗", paint: (colors) => colors.red };

export const eventText = (entry: HistoryEntry, colors: typeof out): string => {
  const { event } = entry;
  const failed = event.type === "StepSettled" && event.data.status === "failed";
  const { sign, paint } = failed ? FAILED_STEP : LOOKS[event.type];
  const text = describeEvent(entry);
  if (paint === undefined) return `${sign} ${text}`;
  // The result of a step is long; a coloured sign is enough for what went well.
  return (event.type === "StepSettled" && !failed) || PLAIN_RESULTS.has(event.type)
    ? `${paint(colors)(sign)} ${text}`
    : paint(colors)(`${sign} ${text}`);
};
