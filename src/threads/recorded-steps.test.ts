import { expect, test } from "vitest";
import { type RecordedStep, recordedIn, shownState, unreadSteps, writtenState } from "./recorded-steps.ts";

const list: RecordedStep[] = [
  ["a", { value: { n: 1 } }],
  ["__proto__", { value: 2 }],
];

test("S1 a state shows what was recorded when it was made, whenever it is looked at", () => {
  const growing: RecordedStep[] = [["a", { value: 1 }]];
  const early = shownState({ input: "i", list: growing, count: 1 }, "i");
  growing.push(["b", { value: 2 }]);
  expect(early).toEqual({ input: "i", steps: { a: { value: 1 } } });
  expect(JSON.stringify(early)).toBe('{"input":"i","steps":{"a":{"value":1}}}');
});

test("a shown state is its reader's: altering it alters nothing that is recorded", () => {
  const shown = shownState({ input: 0, list, count: 2 }, 0);
  (shown.steps.a!.value as { n: number }).n = 99;
  expect(list[0]).toEqual(["a", { value: { n: 1 } }]);
  expect((shown.steps.a!.value as { n: number }).n).toBe(99);
});

test("S2 a step may be called __proto__", () => {
  const { steps } = shownState({ input: 0, list, count: 2 }, 0);
  expect(Object.keys(steps)).toEqual(["a", "__proto__"]);
  expect(Object.getOwnPropertyDescriptor(steps, "__proto__")?.value).toEqual({ value: 2 });
  expect(recordedIn({ steps })).toEqual(list);
});

test("a written state can be kept as a prefix until somebody has looked at it", () => {
  const prefix = { input: 0, list, count: 1 };
  const written = writtenState(prefix, { value: "out" });
  expect(unreadSteps(written)).toBe(prefix);
  expect(written).toEqual({ input: 0, steps: { a: { value: { n: 1 } } }, output: "out" });
  expect(unreadSteps(written)).toBeUndefined();
  expect("output" in writtenState(prefix, {})).toBe(false);
});

test.each([undefined, null, 7, {}, { steps: null }])("a state without steps has none: %j", (state) => {
  expect(recordedIn(state)).toEqual([]);
});
