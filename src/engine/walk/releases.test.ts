import { beforeEach, describe, expect, test } from "vitest";
import { Releases } from "./releases.ts";

const turns = async (count = 4): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((next) => setImmediate(next));
};

let handed: string[] = [];
let quiet = 0;
let releases: Releases;
const hand = (what: string) => (): void => {
  handed.push(what);
};

beforeEach(() => {
  handed = [];
  quiet = 0;
  releases = new Releases(() => {
    quiet += 1;
  });
});

describe("recorded results", () => {
  test("V2: come in the order of the stream, whatever the order of asking", async () => {
    releases.begin();
    for (const place of [2, 0, 1]) releases.recorded(place, hand(`r${place}`));
    expect(handed).toEqual([]);
    await turns();
    expect(handed).toEqual(["r0", "r1", "r2"]);
  });

  test("V2: one that nobody asks for is skipped, and is handed over when it is asked for late", async () => {
    releases.begin();
    releases.recorded(3, hand("r3"));
    await turns();
    releases.recorded(1, hand("r1"));
    await turns();
    expect(handed).toEqual(["r3", "r1"]);
  });

  test("V1: what the body asks for after many hops still comes before a later result", async () => {
    releases.begin();
    releases.recorded(0, () => {
      handed.push("r0");
      void (async () => {
        for (let hop = 0; hop < 100; hop += 1) await null;
        releases.recorded(1, hand("r1"));
      })();
    });
    releases.recorded(2, hand("r2"));
    await turns(8);
    expect(handed).toEqual(["r0", "r1", "r2"]);
  });
});

describe("live results", () => {
  test("V3: wait for every recorded one that has been asked for", async () => {
    releases.begin();
    releases.live(hand("live"));
    releases.recorded(5, hand("recorded"));
    await turns();
    expect(handed).toEqual(["recorded", "live"]);
  });

  test("V3: come in the order of their places, not in the order in which they are known", async () => {
    releases.begin();
    const first = releases.reserve();
    const second = releases.reserve();
    second.fill(hand("second"));
    await turns();
    expect(handed).toEqual([]);
    first.fill(hand("first"));
    await turns();
    expect(handed).toEqual(["first", "second"]);
  });

  test("a place that is dropped holds nobody up; dropping a filled one changes nothing", async () => {
    releases.begin();
    const never = releases.reserve();
    const filled = releases.reserve();
    filled.fill(hand("filled"));
    never.drop();
    filled.drop();
    await turns();
    expect(handed).toEqual(["filled"]);
    expect(releases.idle).toBe(true);
  });

  test("is handed over at once where the turn is quiet, and alone in its turn", async () => {
    releases.begin();
    await turns();
    releases.live(hand("one"));
    releases.live(hand("two"));
    expect(handed).toEqual(["one"]);
    await turns();
    expect(handed).toEqual(["one", "two"]);
  });
});

describe("idle", () => {
  test("not while the body has not come to rest, neither at the beginning nor after a result", async () => {
    releases.begin();
    expect(releases.idle).toBe(false);
    await turns();
    expect([releases.idle, quiet > 0]).toEqual([true, true]);
    releases.live(hand("one"));
    expect([handed, releases.idle]).toEqual([["one"], false]);
    await turns();
    expect(releases.idle).toBe(true);
  });

  test("V4: not while a result takes its time, for which the next one waits", async () => {
    let done: () => void = () => {};
    releases.begin();
    releases.live(() => new Promise<void>((resolve) => (done = resolve)));
    releases.live(hand("next"));
    await turns();
    expect([handed, releases.idle]).toEqual([[], false]);
    done();
    await turns();
    expect([handed, releases.idle]).toEqual([["next"], true]);
  });

  test("V4: a result whose handing over fails does not hold up the next one", async () => {
    releases.begin();
    releases.live(() => Promise.reject(new Error("the schema's")));
    releases.live(hand("next"));
    await turns();
    expect(handed).toEqual(["next"]);
  });

  test("not while a place is kept", async () => {
    releases.begin();
    const place = releases.reserve();
    await turns();
    expect([releases.idle, quiet]).toEqual([false, 0]);
    place.drop();
    expect([releases.idle, quiet > 0]).toEqual([true, true]);
  });
});

test("frozen, it hands over nothing more, and nobody who fills a place is kept", async () => {
  releases.begin();
  const place = releases.reserve();
  releases.recorded(0, hand("recorded"));
  releases.freeze();
  place.fill(hand("live"));
  releases.recorded(1, hand("later"));
  await turns();
  expect(handed).toEqual([]);
});
