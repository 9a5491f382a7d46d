import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createDivergenceWatch, divergenceMessage } from "./divergence.ts";
import type { StepEntry } from "./journal-store.ts";

const entry = (key: string, finishedAt: number): StepEntry => ({
  key,
  name: key.slice(0, key.search(/[#!]/)),
  status: "ok",
  attempts: 1,
  finishedAt,
});

const a = entry("a#0", 10);
const b = entry("b#0", 20);
const c = entry("c#0", 30);

describe("accused", () => {
  test("D1: a step never reached before, while a later-finished entry is unread", () => {
    const watch = createDivergenceWatch([a, b, c]);
    expect(watch.reach("a#0", a)).toBe(undefined);
    expect(watch.reach("new#0")).toEqual({ displaced: b, unread: 2 });
  });

  test("a step before anything is read, displaced by the very first entry", () => {
    expect(createDivergenceWatch([entry("a#0", 0)]).reach("new#0")?.displaced.key).toBe("a#0");
  });

  test("D2: each fresh sibling of a fan-out is judged against the same entry", () => {
    const watch = createDivergenceWatch([a, b]);
    watch.reach("a#0", a);
    const displaced = [1, 2, 3].map((n) => watch.reach(`new#${n}`)?.displaced.key);
    expect(displaced).toEqual(["b#0", "b#0", "b#0"]);
    expect(watch.unread()).toBe(1);
  });

  test("a store that answers out of order is judged as one that does not", () => {
    const watch = createDivergenceWatch([c, a, b]);
    expect(watch.reach("new#0")?.displaced.key).toBe("a#0");
  });
});

describe("not accused", () => {
  test("a first walk", () => {
    const watch = createDivergenceWatch([]);
    expect([watch.reach("a#0"), watch.reach("b#0"), watch.unread()]).toEqual([undefined, undefined, 0]);
  });

  test("new steps after a journal that was read to its end", () => {
    const watch = createDivergenceWatch([a, b]);
    watch.reach("a#0", a);
    watch.reach("b#0", b);
    expect([watch.reach("c#0"), watch.reach("d#0")]).toEqual([undefined, undefined]);
  });

  test("the gap a crashed fan-out left is only a suspicion, and ends as soon as its siblings are read", () => {
    const watch = createDivergenceWatch([a, c]);
    watch.reach("a#0", a);
    expect(watch.reach("b#0")?.displaced.key).toBe("c#0");
    watch.reach("c#0", c);
    expect(watch.reach("d#0")).toBe(undefined);
  });

  test("a step after an outer one whose inner entry stays unread: the inner finished no later", () => {
    const inner = entry("inner#0", 10);
    const outer = entry("outer#0", 10);
    const watch = createDivergenceWatch([entry("earlier#0", 5), inner, outer]);
    watch.reach("earlier#0", entry("earlier#0", 5));
    watch.reach("outer#0", outer);
    expect([watch.reach("next#0"), watch.unread()]).toEqual([undefined, 1]);
  });

  test("a step after determinism reads that were answered", () => {
    const read = entry("now!0", 20);
    const watch = createDivergenceWatch([a, read]);
    watch.reach("a#0", a);
    watch.reach("now!0", read);
    expect(watch.reach("next#0")).toBe(undefined);
  });

  test("a step after one that was answered late and finished after the unread entry", () => {
    const watch = createDivergenceWatch([a, b]);
    watch.reach("a#0", a);
    expect(watch.reach("late#0")?.displaced.key).toBe("b#0");
    watch.answeredLate(entry("late#0", 25));
    expect(watch.reach("next#0")).toBe(undefined);
  });

  test("missed by design: a displaced entry that finished in the same millisecond", () => {
    const watch = createDivergenceWatch([a, entry("b#0", 10)]);
    watch.reach("a#0", a);
    expect(watch.reach("new#0")).toBe(undefined);
  });
});

describe("where the stream's order is known", () => {
  const early = entry("early#0", 500);
  const late = entry("late#0", 100);
  const order = [
    { of: "step", key: "early#0" },
    { of: "sleep", key: "late#0" },
    { of: "step", key: "late#0" },
  ] as const;

  test("a clock that went back neither hides a displaced entry nor makes one", () => {
    const watch = createDivergenceWatch([late, early], order);
    watch.reach("early#0", early);
    expect(watch.reach("fresh#0")?.displaced).toBe(late);
    watch.reach("late#0", late);
    expect(watch.reach("fresh#1")).toBeUndefined();
    const inner = createDivergenceWatch([late, early], order);
    inner.reach("late#0", late);
    expect(inner.reach("fresh#0"), "what came before is behind, whatever its clock said").toBeUndefined();
  });

  test("one that was answered late came after everything the walk began with", () => {
    const watch = createDivergenceWatch([late, early], order);
    watch.answeredLate(entry("other#0", 1));
    expect(watch.reach("fresh#0")).toBeUndefined();
  });
});

test("D5: nothing is suspicious while a step is run again, which may have steps inside it", () => {
  const watch = createDivergenceWatch([a, b]);
  const [one, other] = [watch.resumed(), watch.resumed()];
  expect(watch.reach("fresh#0")).toBeUndefined();
  one();
  expect(watch.reach("fresh#1")).toBeUndefined();
  other();
  expect(watch.reach("fresh#2")?.displaced).toBe(a);
});

test("a suspicion stands until its entry is read, and not while a step is run again", () => {
  const watch = createDivergenceWatch([a, b]);
  const suspicion = watch.reach("fresh#0")!;
  expect(watch.stands(suspicion)).toBe(true);
  const done = watch.resumed();
  expect(watch.stands(suspicion)).toBe(false);
  done();
  expect(watch.stands(suspicion)).toBe(true);
  watch.reach("a#0", a);
  expect(watch.stands(suspicion)).toBe(false);
});

test("it answers as the plain definition does, whatever is reached in whatever order", () => {
  const naive = (entries: readonly StepEntry[]) => {
    const unread = new Set(entries.map((e) => e.key));
    let readThrough = -1;
    return {
      reach(key: string, recorded?: StepEntry) {
        unread.delete(key);
        if (recorded) {
          readThrough = Math.max(readThrough, recorded.finishedAt);
          return undefined;
        }
        const displaced = entries.find((e) => unread.has(e.key) && e.finishedAt > readThrough);
        return displaced && { displaced, unread: unread.size };
      },
      answeredLate(e: StepEntry) {
        readThrough = Math.max(readThrough, e.finishedAt);
      },
      get unread() {
        return unread.size;
      },
    };
  };
  const byFinish = (x: StepEntry, y: StepEntry) => x.finishedAt - y.finishedAt || (x.key < y.key ? -1 : 1);
  const journal = fc
    .array(fc.nat(12), { maxLength: 12 })
    .map((times) => times.map((at, i) => entry(`s#${i}`, at)).sort(byFinish));
  const act = fc.record({
    at: fc.nat(15),
    late: fc.nat(12),
    how: fc.constantFrom("recorded", "fresh", "late"),
  });
  fc.assert(
    fc.property(journal, fc.array(act, { maxLength: 25 }), (entries, acts) => {
      const watch = createDivergenceWatch(entries);
      const model = naive(entries);
      acts.forEach(({ at, late, how }, i) => {
        if (how === "late") {
          watch.answeredLate(entry("l#0", late));
          model.answeredLate(entry("l#0", late));
          return;
        }
        const key = how === "recorded" ? `s#${at}` : `new#${i}`;
        const recorded = entries.find((e) => e.key === key);
        expect(watch.reach(key, recorded)).toEqual(model.reach(key, recorded));
        expect(watch.unread()).toBe(model.unread);
      });
    }),
    { numRuns: 500 },
  );
});

test("D4: walking ten thousand entries looks at each of them about once", () => {
  let looks = 0;
  const entries = Array.from({ length: 10_000 }, (_, i) => {
    const plain = entry(`s#${i}`, i);
    return {
      ...plain,
      get finishedAt() {
        looks++;
        return i;
      },
    } as StepEntry;
  });
  const watch = createDivergenceWatch(entries);
  entries.forEach((e, i) => {
    watch.reach(e.key, e);
    watch.reach(`fresh#${i}`);
  });
  expect(watch.unread()).toBe(0);
  expect(looks).toBeLessThan(8 * entries.length);
});

describe("the message", () => {
  const facts = {
    runId: "wrun_1",
    name: "new",
    key: "new#0",
    suspicion: { displaced: b, unread: 2 },
  };

  test("says what was reached, what is displaced, that nothing was executed, and both causes with their remedies", () => {
    const message = divergenceMessage(facts);
    for (const fragment of [
      "Workflow replay diverged",
      "wrun_1",
      'reached step "new" as journal key new#0',
      "2 recorded entries",
      "the first being b#0",
      "refused to execute",
      "CODE changed",
      "BODY is non-deterministic",
      "start the work again",
      "name steps by literals",
    ]) {
      expect(message).toContain(fragment);
    }
  });

  test("different code versions settle the cause, equal ones rule a redeploy out, a missing one cannot tell", () => {
    const changed = divergenceMessage({ ...facts, started: "A", walking: "B" });
    const same = divergenceMessage({ ...facts, started: "A", walking: "A" });
    const unknown = [
      divergenceMessage({ ...facts, walking: "B" }),
      divergenceMessage({ ...facts, started: "A" }),
    ];
    for (const f of ["settles which cause this is", "STARTED against bundle A", "walked by B"])
      expect(changed).toContain(f);
    for (const f of ["RULES OUT a redeploy", "Look for the computed name"]) expect(same).toContain(f);
    for (const m of unknown) expect(m).toContain("cannot say which cause this is");
    expect(same).not.toContain("settles which");
  });
});
