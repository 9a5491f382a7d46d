/** What must hold of a whole history, once every run has ended. */
import { isReadKey } from "../../src/engine/keys.ts";
import { decodePayload } from "../../src/events/payload.ts";
import { isTerminal, type RunState } from "../../src/projections/run-state.ts";
import { show } from "./body.ts";
import type { History, Ordered } from "./history.ts";
import type { RunFacts } from "./ledger.ts";
import { predict } from "./oracle.ts";
import { optimisticNames } from "./program.ts";
import { replay } from "./replay.ts";
import { Violation } from "./violation.ts";

/** Throws {@link Violation}. */
export const judge = async (history: History, { plain }: { readonly plain: boolean }): Promise<void> => {
  const { ledger, runs, signals, scheduler } = history;
  for (const run of runs) {
    const facts = ledger.runs.get(run.runId)!;
    if (!isTerminal(facts.state.status)) throw new Violation("every run ends", `${run.runId} has not`);
    judgeStart(run, facts);
    judgeEnd(run, facts, plain);
    judgeBodies(run, facts);
    judgeAnswer(run, facts, plain);
    if (!plain && !wasAbandoned(facts)) await replay(facts, run.program, ledger, scheduler);
  }
  const accepted = new Set(runs.flatMap(({ runId }) => payloadsOf(ledger.runs.get(runId)!)));
  for (const { token, id, answer } of signals) {
    if (answer === "unknown") continue;
    if (answer !== accepted.has(show({ signal: id }))) {
      throw new Violation(
        "L5",
        `signal ${id} of ${token} was ${answer ? "accepted, and is not in the log" : "refused, and is in the log"}`,
      );
    }
  }
};

const payloadsOf = ({ decoded }: RunFacts): string[] =>
  decoded.flatMap((event) =>
    event.type === "HookDelivered" && event.data.payload !== undefined
      ? [show(decodePayload(event.data.payload))]
      : [],
  );

/** Of calls with one id, one creates the run, and the run has the input of that call. */
const judgeStart = ({ runId, started, refused }: Ordered, { state }: RunFacts): void => {
  if (started.length > 1)
    throw new Violation("start uniqueness", `${runId} was started by the calls ${started.join(" and ")}`);
  const { id } = decodePayload(state.created!.input!) as { id: number };
  if (started.length === 1 && started[0] !== id) {
    throw new Violation(
      "start uniqueness",
      `call ${started[0]} started ${runId}, which has the input of call ${id}`,
    );
  }
  if (refused.includes(id))
    throw new Violation("start uniqueness", `call ${id} was refused, and started ${runId}`);
};

const judgeEnd = (run: Ordered, { state, decoded }: RunFacts, plain: boolean): void => {
  const { runId, cancelled, cancelsUnheard, answers } = run;
  const wasCancelled = state.status === "cancelled";
  if (cancelled > 1 || (cancelled === 1) !== wasCancelled) {
    if (!(wasCancelled && cancelled === 0 && cancelsUnheard > 0)) {
      throw new Violation(
        "terminal uniqueness",
        `${cancelled} calls say that they cancelled ${runId}, which is ${state.status}`,
      );
    }
  }
  for (const answer of answers) {
    if (answer !== state.status)
      throw new Violation("terminal uniqueness", `${runId} was reported ${answer}, and is ${state.status}`);
  }
  const woken = decoded.filter(({ type }) => type === "SleepWoken").length;
  if (run.wakesUnheard === 0 && woken !== run.woken) {
    throw new Violation(
      "wakes are counted",
      `${run.woken} waits of ${runId} were said to be cut short, and ${woken} were`,
    );
  }
  if (!plain && diverged(state)) {
    throw new Violation("no healthy run diverges", `${runId}: ${state.error?.message}`);
  }
};

/** A store that keeps the contract forgets claims after an hour, and has no order but the clocks': it accuses healthy runs, too. */
const diverged = ({ error }: RunState): boolean =>
  error !== undefined && /replay diverged/.test(error.message);

/** A body begins once for every try; an optimistic one at least, for it also begins under claims that are lost. */
const judgeBodies = ({ runId, bodies, disturbed, program }: Ordered, facts: RunFacts): void => {
  const early = optimisticNames(program);
  for (const [key, settled] of facts.state.steps.entries()) {
    if (isReadKey(key)) continue;
    const starts = bodies.get(key) ?? 0;
    if (starts < 1) throw new Violation("effect conservation", `${key} of ${runId} settled without its body`);
    const accounted = early.has(settled.name) ? starts >= settled.attempts : starts === settled.attempts;
    if (!disturbed && !accounted) {
      throw new Violation(
        "effect conservation",
        `${key} of ${runId} took ${settled.attempts} tries, and its body ran ${starts} times`,
      );
    }
  }
};

/** Its budget was used up by walks that died or overlapped, which is an end of its own. */
const wasAbandoned = ({ state, claims }: RunFacts): boolean => {
  const key = /\(key (\S+) of run \S+\) was not run: it has (\d+) unfinished/.exec(
    state.error?.message ?? "",
  );
  if (key === null) return false;
  if ((claims.get(key[1]!)?.size ?? 0) < Number(key[2])) {
    throw new Violation(
      "abandoned steps",
      `${state.error?.message}, and the log has ${claims.get(key[1]!)?.size ?? 0} claims`,
    );
  }
  return true;
};

const judgeAnswer = ({ runId, program, bodies }: Ordered, facts: RunFacts, plain: boolean): void => {
  if (!program.determinate) return;
  const { state } = facts;
  const prediction = predict(program, runId, (key) => {
    const payload = state.hooks.get(key)?.payload;
    return show(payload === undefined ? undefined : decodePayload(payload));
  });
  const strange = [...state.steps.entries(), ...bodies.entries()]
    .map(([key]) => key)
    .filter((key) => !prediction.keys.has(key));
  const whole = state.status !== "cancelled" && !wasAbandoned(facts) && !(plain && diverged(state));
  if (whole && strange.length > 0)
    throw new Violation(
      "effect conservation",
      `${runId} ran ${strange.join(", ")}, which its body never asks for`,
    );
  if (!whole) return;
  const missing = [...prediction.keys].filter((key) => !state.steps.has(key));
  if (missing.length > 0)
    throw new Violation("effect conservation", `${runId} ended without ${missing.join(", ")}`);
  const { end } = prediction;
  const answer =
    state.status === "completed"
      ? (decodePayload(state.output!) as { answer: string }).answer
      : state.error?.message;
  const expected = end.ok ? end.answer : end.message;
  if ((state.status === "completed") !== end.ok || answer !== expected) {
    throw new Violation(
      "answer agreement",
      `${runId} must be ${end.ok ? "completed" : "failed"} with ${expected}, and is ${state.status} with ${answer}`,
    );
  }
};
