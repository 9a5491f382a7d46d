import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createWorkflowContext } from "../../src/testing/workflow-context.ts";

describe("a recording context", () => {
  it("has a run, a workflow, a clock, a draw and ids that are always the same", async () => {
    const ctx = createWorkflowContext();
    expect([ctx.runId, ctx.workflow]).toEqual(["wrun_test", "test"]);
    expect([await ctx.now(), await ctx.now()]).toEqual([1_767_225_600_000, 1_767_225_600_000]);
    expect(await ctx.random()).toBe(0.5);
    expect([await ctx.uuid(), await ctx.uuid()]).toEqual(["uuid-0", "uuid-1"]);
  });

  it("takes values or functions for all of them", async () => {
    let ticks = 0;
    const ctx = createWorkflowContext({
      runId: "r",
      workflow: "w",
      now: () => ++ticks,
      random: 0,
      uuid: () => "u",
    });
    expect([ctx.runId, ctx.workflow, await ctx.now(), await ctx.now()]).toEqual(["r", "w", 1, 2]);
    expect([await ctx.random(), await ctx.uuid()]).toEqual([0, "u"]);
  });

  it("runs steps once and notes them", async () => {
    const ctx = createWorkflowContext();
    expect(await ctx.step("read", async () => "page")).toBe("page");
    await expect(
      ctx.step("file", () => Promise.reject(new Error("full")), { maxAttempts: 5 }),
    ).rejects.toThrow("full");
    expect(ctx.steps).toEqual([
      { name: "read", maxAttempts: undefined },
      { name: "file", maxAttempts: 5 },
    ]);
  });

  it("answers a given result instead of running the step, also where it is undefined", async () => {
    const ran: string[] = [];
    const ctx = createWorkflowContext({ results: { read: "given", file: undefined } });
    expect(await ctx.step("read", () => ran.push("read"))).toBe("given");
    expect(await ctx.step("file", () => ran.push("file"))).toBeUndefined();
    expect(await ctx.step("toString", () => "not inherited")).toBe("not inherited");
    expect(ran).toEqual([]);
  });

  it("runs no step where it should not", async () => {
    const ran: string[] = [];
    const ctx = createWorkflowContext({ runSteps: false, results: { read: "given" } });
    expect(await ctx.step("file", () => ran.push("file"))).toBeUndefined();
    expect(await ctx.step("read", () => ran.push("read"))).toBe("given");
    expect(ran).toEqual([]);
  });

  it("notes sleeps and does not wait", async () => {
    const ctx = createWorkflowContext();
    const until = new Date(9e12);
    await ctx.sleep("settle", 86_400_000, { correlationId: "nightly" });
    await ctx.sleep("until", until);
    expect(ctx.slept).toEqual([
      { label: "settle", until: 86_400_000, correlationId: "nightly" },
      { label: "until", until, correlationId: undefined },
    ]);
  });

  it("answers waits from its hooks, undefined at a deadline, and refuses to wait for ever", async () => {
    const ctx = createWorkflowContext({ hooks: { review: { approved: true }, nothing: undefined } });
    expect(await ctx.waitFor("review")).toEqual({ approved: true });
    expect(await ctx.waitFor("nothing")).toBeUndefined();
    expect(await ctx.waitFor("late", { timeoutMs: 1 })).toBeUndefined();
    await expect(ctx.waitFor("never")).rejects.toThrow(
      'the body waits for "never" without a deadline, and no answer is given',
    );
    expect(ctx.waited).toEqual(["review", "nothing", "late", "never"]);
  });

  it("applies schemas to results, outputs and payloads", async () => {
    const schema = z.coerce.number();
    const ctx = createWorkflowContext({
      results: { given: "1", wrong: "one" },
      hooks: { token: "3", bad: "three" },
    });
    expect(await ctx.step("given", () => 0, { schema })).toBe(1);
    expect(await ctx.step("ran", () => "2", { schema })).toBe(2);
    expect(await ctx.waitFor("token", { schema })).toBe(3);
    await expect(ctx.step("wrong", () => 0, { schema })).rejects.toThrow(
      'the result given for step "wrong" does not fit its schema',
    );
    await expect(ctx.step("worse", () => "two", { schema })).rejects.toThrow(
      'the output of step "worse" does not fit its schema',
    );
    await expect(ctx.waitFor("bad", { schema })).rejects.toThrow(
      'the answer given for "bad" does not fit its schema',
    );
  });
});
