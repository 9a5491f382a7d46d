/**
 * A run's folded state, as JSON for programs and as text for people. Payloads are the plain JSON that is stored, and `{"sealed":"erased"}`
 * or `{"sealed":"locked"}` where they cannot be opened.
 */
import type { Payload } from "../events/payload.ts";
import { formatInstant, waitName } from "../projections/event-line.ts";
import { deadlineKey } from "../projections/hook-keys.ts";
import { type HookState, isTerminal, type RunState } from "../projections/run-state.ts";
import { harmless, out, statusText } from "./terminal.ts";

const plain = (payload: Payload | undefined): unknown =>
  payload?.sealed === undefined ? payload?.json : { sealed: payload.sealed };

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
  section("Sleeps and deadlines", sleepLines(state));
  section(
    "Hooks",
    [...state.hooks.values()].map(({ token, status, payload }) => {
      const answer = payload === undefined ? "" : ` with ${preview(payload)}`;
      const left = status === "open" && isTerminal(state.status) ? " when the run ended" : "";
      return `${harmless(token)} ${status}${left}${answer}`;
    }),
  );
  return lines.join("\n");
};

const sleepLines = (state: RunState): string[] => {
  const hooks = new Map([...state.hooks.entries()].map(([key, hook]) => [deadlineKey(key), hook.status]));
  return [...state.sleeps.entries()].map(([key, { wakeAt, kind, over }]) => {
    const hook = kind === "hookTimeout" ? hooks.get(key) : undefined;
    const title = kind === "hookTimeout" ? "deadline of hook" : "sleep";
    return `${title} ${harmless(waitName(key))} until ${formatInstant(wakeAt)}, ${over ?? pending(state, hook)}`;
  });
};

/** A deadline that never elapsed is outstanding only as long as its hook is open and the run goes on. */
const pending = ({ status }: RunState, hook: HookStatus | undefined): string => {
  if (hook !== undefined && hook !== "open") return `no longer needed: the hook is ${hook}`;
  return isTerminal(status) ? "left when the run ended" : "waiting";
};

type HookStatus = HookState["status"];

const PREVIEW = 100;

const preview = (payload: Payload | undefined): string => {
  if (payload === undefined) return out.dim("nothing");
  if (payload.sealed !== undefined) return out.dim(payload.sealed);
  const json = harmless(JSON.stringify(payload.json));
  return json.length <= PREVIEW ? json : `${json.slice(0, PREVIEW - 1)}…`;
};
