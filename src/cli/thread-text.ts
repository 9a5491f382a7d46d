/** A checkpoint of a thread, as JSON for programs and as text for people. Values are the plain JSON that is stored, or `{"sealed":…}`. */
import type { Payload } from "../events/payload.ts";
import { formatInstant } from "../projections/event-line.ts";
import type { ThreadCheckpoint } from "../projections/thread-state.ts";
import type { GraphCheckpoint } from "../threads/graph-types.ts";
import { viewCheckpoint } from "../threads/log/checkpoint-view.ts";
import { harmless, out, statusText } from "./terminal.ts";

const plain = (payload: Payload | undefined): unknown =>
  payload?.sealed === undefined ? payload?.json : { sealed: payload.sealed };

export const checkpointJson = (threadId: string, place: ThreadCheckpoint): GraphCheckpoint =>
  viewCheckpoint(threadId, place, plain);

/** `which` says of what moment the checkpoint is. */
export const checkpointText = (threadId: string, place: ThreadCheckpoint, which: string): string => {
  const { status, state, interrupts, resolved, error, drained } = checkpointJson(threadId, place);
  const { input, steps, output } = state as ShownState;
  const why = error?.message ?? drained?.reason;
  const lines = [
    `${out.bold(harmless(threadId))} ${which}`,
    `  ${harmless(place.workflow)}, ${statusText(status)}${why === undefined ? "" : `: ${harmless(why)}`}`,
    `  input ${preview(input)}`,
  ];
  if (output !== undefined) lines.push(`  output ${preview(output)}`);
  lines.push(`  recorded ${formatInstant(place.at)}`);
  const section = (title: string, entries: readonly string[]): void => {
    if (entries.length > 0)
      lines.push("", `${title} (${entries.length})`, ...entries.map((entry) => `  ${entry}`));
  };
  section(
    "Steps",
    Object.entries(steps ?? {}).map(([key, { value, recovered }]) => {
      const from = recovered === undefined ? "" : `, recovered from: ${harmless(recovered.error.message)}`;
      return `${out.green("✓")} ${harmless(key)} → ${preview(value)}${from}`;
    }),
  );
  section(
    "Questions",
    interrupts.map(({ id, reason, payload }) => {
      const about = payload === undefined ? "" : `, about ${preview(payload)}`;
      return `${harmless(id)}: ${harmless(reason)}${about}`;
    }),
  );
  section(
    "Answers",
    Object.entries(resolved ?? {}).map(([id, answer]) => `${harmless(id)} → ${preview(answer)}`),
  );
  return lines.join("\n");
};

interface ShownState {
  readonly input?: unknown;
  readonly output?: unknown;
  readonly steps?: Readonly<
    Record<
      string,
      { readonly value?: unknown; readonly recovered?: { readonly error: { readonly message: string } } }
    >
  >;
}

const PREVIEW = 100;

const preview = (value: unknown): string => {
  if (value === undefined) return out.dim("nothing");
  const json = harmless(JSON.stringify(value));
  return json.length <= PREVIEW ? json : `${json.slice(0, PREVIEW - 1)}…`;
};
