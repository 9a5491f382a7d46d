import { describe, expect, test } from "vitest";
import { Questions } from "./questions.ts";

const questions = (asked: Record<string, string> = {}, answers: Record<string, unknown> = {}): Questions =>
  new Questions({
    workflow: "w",
    asked: new Map(Object.entries(asked)),
    answers: new Map(Object.entries(answers)),
  });

const ids = (run: Questions, ...reasons: readonly string[]): string[] =>
  reasons.map((reason) => run.question({ reason }).id);

/** What a run's checkpoint records of the questions it asked. */
const recorded = (run: Questions, ...reasons: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    reasons.map((reason) => run.question({ reason })).map(({ id, identity }) => [id, identity]),
  );

describe("a question's id", () => {
  test("Q2 counts up in the order of the calls", () => {
    expect(ids(questions(), "a", "b", "c")).toEqual(["w:interrupt:0", "w:interrupt:1", "w:interrupt:2"]);
  });

  test("Q1 stays its own when a later run asks in another order", () => {
    const asked = recorded(questions(), "quick?", "slow?");
    expect(ids(questions(asked), "slow?", "quick?")).toEqual(["w:interrupt:1", "w:interrupt:0"]);
  });

  test("Q1 is not given to a question that nobody asked before", () => {
    const asked = recorded(questions(), "late?");
    expect(ids(questions(asked), "early?", "late?")).toEqual(["w:interrupt:1", "w:interrupt:0"]);
  });

  test("Q1 tells one payload from another", () => {
    const first = questions();
    const asked = Object.fromEntries(
      [1, 2].map((order) => {
        const { id, identity } = first.question({ reason: "Refund?", payload: { order } });
        return [id, identity];
      }),
    );
    const again = questions(asked);
    expect(again.question({ reason: "Refund?", payload: { order: 2 } }).id).toBe("w:interrupt:1");
    expect(again.question({ reason: "Refund?", payload: { order: 1 } }).id).toBe("w:interrupt:0");
  });

  test("Q1 is the same for a payload that a JSON store gave back", () => {
    const at = new Date(0);
    const { id, identity } = questions().question({ reason: "?", payload: { at, note: undefined, big: 1n } });
    const later = questions({ [id]: identity });
    expect(later.question({ reason: "?", payload: { at: at.toISOString(), big: "1n" } }).id).toBe(id);
  });

  test("Q3 is another one for the same words again", () => {
    const asked = recorded(questions(), "more?", "more?");
    expect(Object.keys(asked)).toEqual(["w:interrupt:0", "w:interrupt:1"]);
    expect(ids(questions(asked), "more?", "more?", "more?")).toEqual([
      "w:interrupt:0",
      "w:interrupt:1",
      "w:interrupt:2",
    ]);
  });

  test("Q4 follows the order of the calls where nothing was recorded of the questions", () => {
    const run = questions({}, { "w:interrupt:0": "yes" });
    expect(ids(run, "reworded", "next")).toEqual(["w:interrupt:0", "w:interrupt:1"]);
    expect(run.isAnswered("w:interrupt:0")).toBe(true);
    expect(run.isAnswered("w:interrupt:1")).toBe(false);
  });

  test("is its key's, whatever it says and whenever it is asked", () => {
    const run = questions();
    expect(run.question({ reason: "a", key: "approve" })).toMatchObject({
      id: "w:interrupt:approve",
      index: 0,
    });
    expect(run.question({ reason: "b" })).toMatchObject({ id: "w:interrupt:0" });
    expect(run.question({ reason: "c", key: "approve" })).toMatchObject({ id: "w:interrupt:approve#2" });
    expect(questions().question({ reason: "other", key: "approve" }).id).toBe("w:interrupt:approve");
  });

  test.each(["", "0", "17"])("is not made of the key %j, which could be an index", (key) => {
    expect(() => questions().question({ reason: "?", key })).toThrow(TypeError);
  });

  test("a payload that no text can say is known by its reason", () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    const { id, identity } = questions().question({ reason: "?", payload: cyclic });
    expect(questions({ [id]: identity }).question({ reason: "?", payload: cyclic }).id).toBe(id);
  });
});

test("an answer is a copy: altering it alters nothing that is recorded", () => {
  const run = questions({}, { q: { tags: ["a"] } });
  (run.answer("q") as { tags: string[] }).tags.push("b");
  expect(run.answer("q")).toEqual({ tags: ["a"] });
});
