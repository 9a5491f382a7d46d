/**
 * Random workflow bodies, as data: what a generated body does, not how it is run (body.ts) or what it must answer (oracle.ts).
 *
 * A *determinate* program has one possible answer, whatever the order of events: no race, no window, and nothing read from the clock
 * or from chance is used. A *free* one has races of everything with everything, shares step names between branches, and branches on
 * what it was told, so that the smallest difference between two walks shows.
 */
import { hash, type Random } from "./random.ts";

export interface StepNode {
  readonly kind: "step";
  readonly name: string;
  /** Tries of a walk that fail before the last one. */
  readonly fails: number;
  readonly failsWith: "plain" | "retryable";
  /** How the last try ends; `exhausted` fails until the budget is spent. */
  readonly ends: "ok" | "fatal" | "exhausted";
  readonly maxAttempts: number;
  /** How often the body waits for something outside. */
  readonly pauses: number;
  /** Steps that the body calls. */
  readonly inner: readonly StepNode[];
  /** Its body begins beside its claim. */
  readonly optimistic?: boolean;
}

export type Node =
  | StepNode
  | {
      readonly kind: "sleep";
      readonly label: string;
      readonly ms: number;
      readonly correlationId?: string | undefined;
    }
  | { readonly kind: "hook"; readonly site: string; readonly timeoutMs?: number | undefined }
  | { readonly kind: "read"; readonly what: "now" | "random" | "uuid"; readonly used: boolean }
  | { readonly kind: "all" | "race"; readonly branches: readonly (readonly Node[])[] }
  | { readonly kind: "try"; readonly body: readonly Node[] }
  | { readonly kind: "loop"; readonly times: number; readonly body: readonly Node[] }
  | { readonly kind: "branch"; readonly odd: readonly Node[]; readonly even: readonly Node[] }
  | { readonly kind: "microtasks"; readonly count: number };

export interface Program {
  readonly determinate: boolean;
  readonly body: readonly Node[];
}

const MINUTE = 60_000;
const DELAYS = [-5, 0, 10, 1000, MINUTE, 10 * MINUTE, 3 * 60 * MINUTE];

export const arbitraryProgram = (random: Random, size: number): Program => {
  const determinate = random.chance(0.5);
  /** Budgets that deaths and overlaps may use up make an abandoned step a legitimate end, which says little. */
  const tightBudgets = random.chance(0.15);
  let left = size;
  let sites = 0;
  const site = (): string => String.fromCharCode(97 + (sites % 26)) + (sites++ < 26 ? "" : sites);

  const step = (inner: boolean): StepNode => {
    const ends = random.chance(0.8) ? "ok" : random.pick(["fatal", "exhausted"] as const);
    const budget = tightBudgets ? 1 + random.int(3) : 60;
    const maxAttempts = ends === "exhausted" ? (tightBudgets ? budget : 2 + random.int(2)) : budget;
    return {
      kind: "step",
      name: !determinate && random.chance(0.3) ? "shared" : `s${site()}`,
      fails: ends !== "exhausted" && maxAttempts > 1 && random.chance(0.25) ? 1 : 0,
      failsWith: random.pick(["plain", "retryable"]),
      ends,
      maxAttempts,
      pauses: random.pick([0, 0, 1, 2]),
      inner:
        inner && random.chance(0.15)
          ? Array.from({ length: 1 + random.int(2) }, () => ({ ...step(false), name: `i${site()}` }))
          : [],
    };
  };

  const branches = (): Node[][] => Array.from({ length: 2 + random.int(3) }, () => sequence(2));

  const node = (depth: number): Node => {
    left -= 1;
    const shallow = depth < 3 && left > 1;
    const kinds = [6, 2, 2, 1, shallow ? 2 : 0, shallow && !determinate ? 3 : 0, 1, 0.6, 1, 0.7];
    switch (random.weighted(kinds)) {
      case 0:
        return step(true);
      case 1: {
        const correlationId = random.chance(0.5) ? random.pick(["one", "two"]) : undefined;
        return { kind: "sleep", label: `z${site()}`, ms: random.pick(DELAYS), correlationId };
      }
      case 2: {
        const timeoutMs = !determinate && random.chance(0.6) ? random.pick(DELAYS) : undefined;
        return { kind: "hook", site: site(), timeoutMs };
      }
      case 3:
        return { kind: "read", what: random.pick(["now", "random", "uuid"]), used: !determinate };
      case 4:
        return { kind: "all", branches: branches() };
      case 5:
        return { kind: "race", branches: branches() };
      case 6:
        return { kind: "try", body: sequence(depth + 1) };
      case 7:
        return { kind: "loop", times: 2, body: sequence(depth + 1) };
      case 8:
        return { kind: "branch", odd: sequence(depth + 1), even: sequence(depth + 1) };
      default:
        return { kind: "microtasks", count: 1 + random.int(5) };
    }
  };

  const sequence = (depth: number): Node[] => {
    const nodes = [node(depth)];
    while (left > 0 && random.chance(0.5)) nodes.push(node(depth));
    return nodes;
  };

  const body: Node[] = [];
  while (left > 0) body.push(node(0));
  return { determinate, body };
};

/** The same program, of whose steps about half are optimistic: which, their names say, so that nothing is drawn for it. */
export const withOptimism = ({ determinate, body }: Program): Program => ({
  determinate,
  body: body.map((node) => everyStep(node, (step) => ({ ...step, optimistic: hash(step.name) % 2 === 0 }))),
});

/**
 * The same program by an author who catches everything and goes on: what follows a step follows its failure too, whatever it was. Its
 * budgets are tight and its bodies slow, so that deaths and overlaps use them up. Nothing is drawn for it.
 */
export const withCarelessness = ({ determinate, body }: Program): Program => ({
  determinate,
  body: body.map((node) =>
    everyStep(node, (step) => {
      const maxAttempts = step.ends === "exhausted" ? step.maxAttempts : 1 + step.fails;
      const after: StepNode = { ...step, name: `${step.name}-after`, fails: 0, ends: "ok", inner: [] };
      return {
        kind: "try",
        body: [{ kind: "try", body: [{ ...step, maxAttempts, pauses: step.pauses + 2 }] }, after],
      };
    }),
  ),
});

/** The node with `change` made of every step that is not inside another one. */
const everyStep = (node: Node, change: (step: StepNode) => Node): Node => {
  const inAll = (nodes: readonly Node[]): Node[] => nodes.map((one) => everyStep(one, change));
  switch (node.kind) {
    case "step":
      return change(node);
    case "all":
    case "race":
      return { ...node, branches: node.branches.map(inAll) };
    case "try":
    case "loop":
      return { ...node, body: inAll(node.body) };
    case "branch":
      return { ...node, odd: inAll(node.odd), even: inAll(node.even) };
    default:
      return node;
  }
};

/** The names of the steps whose bodies may begin before their claims. */
export const optimisticNames = ({ body }: Program): ReadonlySet<string> => {
  const names = new Set<string>();
  const look = (node: Node): void => {
    if (node.kind === "step" && node.optimistic === true) names.add(node.name);
    if (node.kind === "all" || node.kind === "race") for (const branch of node.branches) branch.forEach(look);
    if (node.kind === "try" || node.kind === "loop") node.body.forEach(look);
    if (node.kind === "branch") for (const one of [node.odd, node.even]) one.forEach(look);
  };
  body.forEach(look);
  return names;
};
