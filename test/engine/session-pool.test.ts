import { expect, test } from "vitest";
import { createRun } from "../../src/engine/decide/run.ts";
import { Lane } from "../../src/engine/session/lane.ts";
import { createSessionPool } from "../../src/engine/session/session-pool.ts";
import { createFaultLog } from "./fault-log.ts";

const create = createRun({ workflow: "job", createdAt: 1 });

test("one run has one session while it is held", () => {
  const pool = createSessionPool(createFaultLog());
  expect(pool.get("a")).toBe(pool.get("a"));
  expect(pool.get("a")).not.toBe(pool.get("b"));
});

test("L10: however many runs are touched, the pool stays bounded", () => {
  const pool = createSessionPool(createFaultLog());
  for (let run = 0; run < 5_000; run += 1) pool.get(`run-${run}`);
  expect(pool.size).toBeLessThanOrEqual(512);
});

test("the least recently used goes first", () => {
  const pool = createSessionPool(createFaultLog());
  const [hot, cold] = [pool.get("hot"), pool.get("cold")];
  for (let run = 0; run < 600; run += 1) {
    pool.get(`run-${run}`);
    pool.get("hot");
  }
  expect(pool.get("hot")).toBe(hot);
  expect(pool.get("cold")).not.toBe(cold);
});

test("a session with an open lane, a read or a proposal under way stays", async () => {
  const pool = createSessionPool(createFaultLog());
  const walking = pool.get("walking");
  walking.openLane(new Lane());
  const reading = pool.get("reading");
  const read = reading.current();
  const proposing = pool.get("proposing");
  const proposed = proposing.propose(create, { creates: true });
  for (let run = 0; run < 2_000; run += 1) pool.get(`run-${run}`);
  expect(pool.get("walking")).toBe(walking);
  expect(pool.get("reading")).toBe(reading);
  expect(pool.get("proposing")).toBe(proposing);
  await Promise.all([read, proposed]);
  for (let run = 0; run < 2_000; run += 1) pool.get(`other-${run}`);
  expect(pool.get("reading")).not.toBe(reading);
  expect(pool.get("walking")).toBe(walking);
});

test("more busy sessions than it may hold are all kept, and let go when they are done", async () => {
  const pool = createSessionPool(createFaultLog());
  const all = Array.from({ length: 1_000 }, (_, run) =>
    pool.get(`busy-${run}`).propose(create, { creates: true }),
  );
  expect(pool.size).toBe(1_000);
  await Promise.all(all);
  for (let run = 0; run < 600; run += 1) pool.get(`run-${run}`);
  expect(pool.size).toBeLessThanOrEqual(512);
});
