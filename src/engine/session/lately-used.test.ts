import { expect, test } from "vitest";
import { LatelyUsed } from "./lately-used.ts";

interface Item {
  readonly name: string;
  events: number;
  idle: boolean;
}

const kept = (maxItems: number, maxEvents = 1_000_000): LatelyUsed<Item> =>
  new LatelyUsed<Item>({
    make: (name) => ({ name, events: 10, idle: true }),
    maxItems,
    maxEvents,
    eventsOf: ({ events }) => events,
    isIdle: ({ idle }) => idle,
  });

/** Takes up so many new ones. */
const crowd = (items: LatelyUsed<Item>, count: number): void => {
  for (let at = 0; at < count; at += 1) items.get(`crowd-${at}`);
};

test("the least recently used goes first, and the others stay the same", () => {
  const items = kept(3);
  const [a, b, c] = ["a", "b", "c"].map((name) => items.get(name));
  items.get("a");
  items.get("d");
  expect(items.size).toBe(3);
  expect(items.get("a")).toBe(a);
  expect(items.get("c")).toBe(c);
  expect(items.get("b")).not.toBe(b);
});

test("one that is not idle stays, and goes when it is", () => {
  const items = kept(2);
  const busy = items.get("busy");
  busy.idle = false;
  crowd(items, 10);
  expect(items.get("busy")).toBe(busy);
  busy.idle = true;
  crowd(items, 10);
  expect(items.get("busy")).not.toBe(busy);
});

test("L10: folded events are bounded too, by those that are idle", () => {
  const items = kept(1_000, 100);
  const heavy = items.get("heavy");
  Object.assign(heavy, { events: 50, idle: false });
  crowd(items, 63);
  // Five of ten events, the busy one, and the one that was taken up after the count.
  expect(items.size).toBe(7);
  expect(items.get("heavy")).toBe(heavy);
});

test("what is retired is kept among few of its kind, however little the others are used, and goes when it is idle", () => {
  const items = kept(1_000);
  const [first, busy] = [items.get("first"), items.get("busy")];
  busy.idle = false;
  for (const name of ["busy", "first", "never made"]) items.retire(name);
  expect([items.get("first"), items.peek("first"), items.peek("never made")]).toEqual([
    first,
    first,
    undefined,
  ]);
  crowd(items, 64);
  for (let at = 0; at < 64; at += 1) items.retire(`crowd-${at}`);
  expect(items.size).toBe(64);
  expect([items.peek("first"), items.peek("busy"), items.peek("crowd-0")]).toEqual([
    undefined,
    busy,
    undefined,
  ]);
  crowd(items, 200);
  expect(items.size).toBe(264 - 63);
});

test("L10: folded events of what is retired count too, and go first", () => {
  const items = kept(1_000, 100);
  for (const name of ["a", "b", "c"]) items.get(name);
  for (const name of ["a", "b"]) items.retire(name);
  crowd(items, 61);
  expect([items.peek("a"), items.peek("b"), items.size]).toEqual([undefined, undefined, 11]);
});
