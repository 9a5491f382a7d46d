/** A run's folded state, as JSON for programs and as text for people. Payloads are the plain JSON that is stored. */
import type { Payload } from "../events/payload.ts";
import { formatInstant } from "../projections/event-line.ts";
import type { RunState } from "../projections/run-state.ts";
import { harmless, out, statusText } from "./terminal.ts";

const plain = (payload: Payload | undefined): unknown => payload?.json;

export const stateJson = (runId: string, state: RunState): Record<string, unknown> => ({
  runId,
  revision: state.revision,
  workflow: state.created?.workflow,
  status: state.status,
  createdAt: state.created?.createdAt,
  key: state.created?.key,
  input: plain(state.created?.input),
  output: plain(state.output),
  error: state.error,
  steps: Object.fromEntries(
    [...state.steps.entries()].map(([key, step]) => [key, { ...step, output: plain(step.output) }]),
  ),
  underWay: Object.fromEntries(underWay(state)),
  sleeps: Object.fromEntries(state.sleeps.entries()),
  hooks: Object.fromEntries(
    [...state.hooks.entries()].map(([key, hook]) => [key, { ...hook, payload: plain(hook.payload) }]),
  ),
});

/** Charges for steps that have not settled. */
const underWay = (state: RunState) =>
  [...state.charges.entries()].filter(([key, charges]) => charges.length > 0 && !state.steps.has(key));

export const stateText = (runId: string, state: RunState): string => {
  const lines = [
    `${out.bold(harmless(runId))} at revision ${state.revision}`,
    `  ${harmless(state.created?.workflow ?? "?")}, ${statusText(state.status)}${state.error === undefined ? "" : `: ${harmless(state.error.message)}`}`,
    `  input ${preview(state.created?.input)}`,
  ];
  if (state.output !== undefined) lines.push(`  output ${preview(state.output)}`);
  const section = (title: string, entries: readonly string[]): void => {
    if (entries.length > 0)
      lines.push("", `${title} (${entries.length})`, ...entries.map((entry) => `  ${entry}`));
  };
  section(
    "Settled steps",
    [...state.steps.values()].map(({ key, status, output, error }) =>
      status === "ok"
        ? `${out.green("✓")} ${harmless(key)} → ${preview(output)}`
        : `${out.red("✗")} ${harmless(key)}: ${harmless(error?.message ?? "")}`,
    ),
  );
  section(
    "Steps under way",
    underWay(state).map(([key, charges]) => `${harmless(key)}, claimed ${formatInstant(charges[0]!.at)}`),
  );
  section(
    "Sleeps and deadlines",
    [...state.sleeps.entries()].map(
      ([key, { wakeAt, over }]) => `${harmless(key)} until ${formatInstant(wakeAt)}, ${over ?? "waiting"}`,
    ),
  );
  section(
    "Hooks",
    [...state.hooks.values()].map(({ token, status, payload }) => {
      const answer = payload === undefined ? "" : ` with ${preview(payload)}`;
      return `${harmless(token)} ${status}${answer}`;
    }),
  );
  return lines.join("\n");
};

const PREVIEW = 100;

const preview = (payload: Payload | undefined): string => {
  if (payload === undefined) return out.dim("nothing");
  const json = harmless(JSON.stringify(payload.json));
  return json.length <= PREVIEW ? json : `${json.slice(0, PREVIEW - 1)}…`;
};
