/** What a determinate program must answer, and which steps it must settle, worked out without an engine. */
import { createKeys, type Keys } from "../../src/engine/keys.ts";
import { digest, failureText, show, stepValue, tokenOf } from "./body.ts";
import type { Node, Program, StepNode } from "./program.ts";

export interface Prediction {
  readonly end:
    | { readonly ok: true; readonly answer: string }
    | { readonly ok: false; readonly message: string };
  /** Every step and read that settles. */
  readonly keys: ReadonlySet<string>;
}

class Failed extends Error {}

interface Scene {
  readonly runId: string;
  readonly keys: Keys;
  readonly settled: Set<string>;
  readonly sites: Map<string, number>;
  /** The text of what answered the hook at `key`. */
  readonly payload: (key: string) => string;
}

export const predict = (program: Program, runId: string, payload: (key: string) => string): Prediction => {
  const scene: Scene = { runId, keys: createKeys(), settled: new Set(), sites: new Map(), payload };
  try {
    return { end: { ok: true, answer: sequence(program.body, scene, "start") }, keys: scene.settled };
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    return { end: { ok: false, message: error.message }, keys: scene.settled };
  }
};

const sequence = (nodes: readonly Node[], scene: Scene, given: string): string =>
  nodes.reduce((last, node) => answerOf(node, scene, last), given);

const orCaught = (nodes: readonly Node[], scene: Scene, given: string): string => {
  try {
    return sequence(nodes, scene, given);
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    return `caught ${error.message}`;
  }
};

const answerOf = (node: Node, scene: Scene, given: string): string => {
  switch (node.kind) {
    case "step":
      return step(node, node.name, scene, given);
    case "hook": {
      const n = scene.sites.get(node.site) ?? 0;
      scene.sites.set(node.site, n + 1);
      return scene.payload(scene.keys.hook(tokenOf(scene.runId, node.site, n)).key);
    }
    case "read":
      scene.settled.add(scene.keys.read(node.what));
      return given;
    case "all":
      return show(node.branches.map((branch) => orCaught(branch, scene, given)));
    case "try":
      return orCaught(node.body, scene, given);
    case "loop": {
      let last = given;
      for (let i = 0; i < node.times; i += 1) last = sequence(node.body, scene, last);
      return last;
    }
    case "branch":
      return sequence(digest(given) % 2 === 0 ? node.even : node.odd, scene, given);
    case "sleep":
    case "microtasks":
      return given;
    case "race":
      throw new Error("a determinate program has no race");
    default:
      return node satisfies never;
  }
};

const step = (node: StepNode, name: string, scene: Scene, given: string): string => {
  const key = scene.keys.step(name);
  scene.settled.add(key);
  if (node.ends !== "ok") throw new Failed(failureText(key, node.ends));
  let last = given;
  for (const inner of node.inner) last = step(inner, `${key}.${inner.name}`, scene, last);
  return show(stepValue(key, last));
};
