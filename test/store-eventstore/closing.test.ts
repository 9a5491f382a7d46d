/** What is under way when a log is closed, or when the stream of batched appends breaks: everything is answered, and nothing is thrown that nobody can catch. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { collect, event, numbered, put, testScene, until } from "./kit.ts";

const scene = testScene();
const lost: unknown[] = [];
const lose = (reason: unknown): void => void lost.push(reason);

beforeEach(() => {
  lost.length = 0;
  process.on("unhandledRejection", lose);
});
afterEach(() => {
  process.off("unhandledRejection", lose);
});

const tagOf = (answer: Awaited<ReturnType<typeof put>>): string =>
  "_tag" in answer ? answer._tag : "written";

describe.each(["plain", "batch"] as const)("%s appends", (appends) => {
  const on = appends === "plain" ? "append" : "batchAppend";

  it("those that wait for their turn when the log is closed are answered Unavailable, and not written", async () => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString, { appends });
    await put(log, "b", "none", event());
    node.faults.add({ on, kind: "stall", delayMs: 300, stream: "a" });
    const answering = numbered(10).map((one) => put(log, "a", "any", one));
    await until("the first", () => node.counts.calls[on] > 1);
    await log.close();
    const tags = (await Promise.all(answering)).map(tagOf);
    expect(tags).toEqual(["written", ...Array(9).fill("Unavailable")]);
    expect(await collect((await scene.open(node.connectionString)).read("a"))).toHaveLength(1);
    expect(lost).toEqual([]);
  });

  it("those that are tried again, or are late, when the log is closed are answered too", async () => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString, { appends, deadlineMs: 500, retryForMs: 60_000 });
    await put(log, "b", "none", event());
    node.faults.add({ on, kind: "drop", times: 1_000, stream: "a" });
    const answering = numbered(10).map((one, n) => put(log, n < 5 ? `a${n}` : "a", "any", one));
    await until("the first", () => node.counts.calls[on] > 5);
    await log.close();
    const tags = new Set((await Promise.all(answering)).map(tagOf));
    expect([...tags].sort()).toEqual(["Unavailable", "UnknownOutcome"]);
    expect(lost).toEqual([]);
  });

  it("large appends that the connection has not taken yet when it breaks are written once", async () => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString, { appends });
    await put(log, "b", "none", event());
    const text = "x".repeat(100_000);
    const events = numbered(60).map((one) => ({ ...one, data: { ...one.data, text } }));
    const answering = events.map((one, n) => put(log, `a${n}`, "none", one));
    await until("the first", () => node.counts.calls[on] > 1);
    await node.restart();
    for (const [n, answer] of (await Promise.all(answering)).entries()) {
      const there = await collect(log.read(`a${n}`));
      expect(there).toHaveLength(tagOf(answer) === "written" ? 1 : 0);
    }
    expect(lost).toEqual([]);
  });
});
