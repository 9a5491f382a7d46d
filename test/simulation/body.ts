/**
 * A generated body, run against the engine: every result that reaches it is told to the world, in the order in which it came.
 *
 * The body is a function of what it was told and of nothing else; what it returns contains all of that, so that two walks which were
 * told different things return different things.
 */
import { inspect } from "node:util";
import { JournalConflictError } from "../../src/engine/journal-conflict-error.ts";
import { createKeys, type Keys } from "../../src/engine/keys.ts";
import { Refusal } from "../../src/engine/refusals.ts";
import { stepInfo } from "../../src/engine/step-context.ts";
import { FatalError, messageOf, RetryableError } from "../../src/engine/step-errors.ts";
import type { StepOptions, WorkflowContext } from "../../src/engine/workflow.ts";
import type { Settlement } from "../../src/projections/run-state.ts";
import type { Node, Program, StepNode } from "./program.ts";
import { hash } from "./random.ts";

/** What the world wants to know of one walk. */
export interface WalkWitness {
  /** A step's body begins, of an optimistic step perhaps before its claim is recorded; what it throws breaks the history off. */
  readonly bodyStarts: (key: string, optimistic: boolean) => void;
  /** The outside takes its time. */
  readonly pause: (key: string) => Promise<void>;
  /** A result reached the body. `text` shows it. */
  readonly saw: (what: Settlement, text: string) => void;
  /** The engine threw something into the body that is no result. */
  readonly troubled: (error: unknown) => void;
}

/** The context without its demand for literal names. */
interface LooseContext extends Omit<WorkflowContext, "step" | "sleep"> {
  step(name: string, fn: () => unknown, options: StepOptions): Promise<unknown>;
  sleep(label: string, ms: number, options: { correlationId?: string }): Promise<void>;
}

interface Frame {
  readonly ctx: LooseContext;
  readonly keys: Keys;
  readonly sites: Map<string, number>;
  readonly trail: string[];
  readonly witness: WalkWitness;
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** One text for one value, types included. */
export const show = (value: unknown): string =>
  typeof value === "string" || typeof value === "number"
    ? JSON.stringify(value)
    : inspect(value, { depth: 8, sorted: true, breakLength: Number.POSITIVE_INFINITY });

/** What stands for an answer where the next decision depends on it: not on what chance made of it. */
export const digest = (text: string): number => hash(text.replace(UUID, ""));

export const tokenOf = (runId: string, site: string, n: number): string => `${runId}/${site}/${n}`;

/** What the body of a step answers: a function of its key and of what it was given, in all sorts of types. */
export const stepValue = (key: string, given: string): unknown => {
  const sum = hash(`${key}|${digest(given)}`);
  switch (sum % 8) {
    case 0:
      return undefined;
    case 1:
      return new Date(sum);
    case 2:
      return new Map([[key, sum]]);
    case 3:
      return { key, sum, none: null, gone: undefined };
    case 4:
      return BigInt(sum);
    case 5:
      return `text ${sum}`;
    default:
      return sum;
  }
};

export const failureText = (key: string, ends: StepNode["ends"]): string => `${key} ${ends}`;

/** Runs `program` as a workflow's body. Resolves with everything it was told, and the last of it. */
export const runProgram = async (
  program: Program,
  context: WorkflowContext,
  witness: WalkWitness,
): Promise<{ answer: string; trail: string[] }> => {
  const ctx = context as unknown as LooseContext;
  const frame: Frame = { ctx, keys: createKeys(), sites: new Map(), trail: [], witness };
  const answer = await runSequence(program.body, frame, "start");
  return { answer, trail: [...frame.trail] };
};

const runSequence = async (nodes: readonly Node[], frame: Frame, given: string): Promise<string> => {
  let last = given;
  for (const node of nodes) last = await runNode(node, frame, last);
  return last;
};

const runNode = async (node: Node, frame: Frame, given: string): Promise<string> => {
  const { ctx, keys } = frame;
  switch (node.kind) {
    case "step":
      return runStep(node, node.name, frame, given);
    case "sleep": {
      const { label, ms, correlationId } = node;
      const what = { of: "sleep", key: keys.sleep(label) } as const;
      await watch(
        frame,
        what,
        () => ctx.sleep(label, ms, correlationId === undefined ? {} : { correlationId }),
        show,
      );
      return given;
    }
    case "hook": {
      const n = frame.sites.get(node.site) ?? 0;
      frame.sites.set(node.site, n + 1);
      const token = tokenOf(ctx.runId, node.site, n);
      const what = { of: "hook", key: keys.hook(token).key } as const;
      const { timeoutMs } = node;
      return watch(
        frame,
        what,
        () => (timeoutMs === undefined ? ctx.waitFor(token) : ctx.waitFor(token, { timeoutMs })),
        show,
      );
    }
    case "read": {
      const what = { of: "step", key: keys.read(node.what) } as const;
      const text = await watch<unknown>(frame, what, () => ctx[node.what](), show);
      return node.used ? text : given;
    }
    case "all": {
      const settled = node.branches.map((branch) => runSequence(branch, frame, given).catch(caught));
      return show(await Promise.all(settled));
    }
    case "race":
      return Promise.race(node.branches.map((branch) => runSequence(branch, frame, given)));
    case "try":
      return runSequence(node.body, frame, given).catch(caught);
    case "loop": {
      let last = given;
      for (let i = 0; i < node.times; i += 1) last = await runSequence(node.body, frame, last);
      return last;
    }
    case "branch":
      return runSequence(digest(given) % 2 === 0 ? node.even : node.odd, frame, given);
    case "microtasks":
      for (let i = 0; i < node.count; i += 1) await undefined;
      return given;
    default:
      return node satisfies never;
  }
};

const caught = (error: unknown): string => `caught ${messageOf(error)}`;

const runStep = (node: StepNode, name: string, frame: Frame, given: string): Promise<string> => {
  const key = frame.keys.step(name);
  let tries = 0;
  const body = async (): Promise<unknown> => {
    tries += 1;
    frame.witness.bodyStarts(key, node.optimistic === true && tries === 1);
    for (let i = 0; i < node.pauses; i += 1) await frame.witness.pause(key);
    if (node.ends === "exhausted") throw new Error(failureText(key, node.ends));
    if (tries <= node.fails) {
      const message = `${key} try ${tries}`;
      throw node.failsWith === "plain"
        ? new Error(message)
        : new RetryableError(message, { retryAfter: new Date(0) });
    }
    if (node.ends === "fatal") throw new FatalError(failureText(key, node.ends));
    let last = given;
    // Inner steps are counted by walk, and are not reached again once the outer one is recorded: their names hold the outer key.
    for (const inner of node.inner) last = await runStep(inner, `${key}.${inner.name}`, frame, last);
    return stepValue(key, last);
  };
  const { maxAttempts, optimistic = false } = node;
  return watch(
    frame,
    { of: "step", key },
    () => frame.ctx.step(name, body, { maxAttempts, optimistic }),
    show,
  );
};

/** Asks, and takes down the answer at the moment at which the body has it. */
const watch = async <T>(
  { trail, witness }: Frame,
  what: Settlement,
  ask: () => Promise<T>,
  text: (value: T) => string,
): Promise<string> => {
  // A step inside a step is not asked for any more once the outer one is recorded: it is no part of what the run was told.
  const inStep = stepInfo() !== undefined;
  try {
    const shown = text(await ask());
    if (!inStep) trail.push(`${what.key}=${shown}`);
    witness.saw(what, shown);
    return shown;
  } catch (error) {
    if (isResult(error)) {
      if (!inStep) trail.push(`${what.key}!${messageOf(error)}`);
      witness.saw(what, `failed ${messageOf(error)}`);
    } else witness.troubled(error);
    throw error;
  }
};

/** Is it what the journal says about a step, rather than what the engine or the store says about the walk? */
const isResult = (error: unknown): boolean =>
  FatalError.is(error) && !Refusal.is(error) && !JournalConflictError.is(error);
