/** One execution of a step at a time in a process: seven cases. */
import { describe, expect, it } from "vitest";
import { runStepSingleFlight, type StepExecutionResult } from "../../src/executor/index.ts";
import { later, settle, watchRejections } from "./scene.ts";

watchRejections();

const COMPLETED: StepExecutionResult = { type: "completed" };

describe("a step that is being executed in this process", () => {
  it("is executed when nobody is at it, and its verdict is the caller's", async () => {
    expect(await runStepSingleFlight("r", "s", async () => COMPLETED)).toBe(COMPLETED);
  });

  it("is not executed a second time; the second caller waits, and is told that it was skipped", async () => {
    const flight = later<StepExecutionResult>();
    let executions = 0;
    const execute = () => {
      executions++;
      return flight.promise;
    };
    const first = runStepSingleFlight("r", "s", execute);
    let told = false;
    const second = runStepSingleFlight("r", "s", execute).finally(() => {
      told = true;
    });
    await settle();
    expect([executions, told]).toEqual([1, false]);
    flight.resolve(COMPLETED);
    expect(await Promise.all([first, second])).toEqual([COMPLETED, { type: "skipped" }]);
    expect(executions).toBe(1);
  });

  it("leaves its failure to whoever executes it", async () => {
    const flight = later<StepExecutionResult>();
    const first = runStepSingleFlight("r", "s", () => flight.promise);
    const second = runStepSingleFlight("r", "s", async () => COMPLETED);
    flight.reject(new Error("no World"));
    await expect(first).rejects.toThrow("no World");
    expect(await second).toEqual({ type: "skipped" });
  });

  it("can be executed again once it is over, well or badly", async () => {
    await expect(runStepSingleFlight("r", "s", () => Promise.reject(new Error("x")))).rejects.toThrow("x");
    expect(await runStepSingleFlight("r", "s", async () => COMPLETED)).toBe(COMPLETED);
    expect(await runStepSingleFlight("r", "s", async () => COMPLETED)).toBe(COMPLETED);
  });

  it("does not hold up another step, or another run", async () => {
    const flight = later<StepExecutionResult>();
    const first = runStepSingleFlight("r", "s", () => flight.promise);
    expect(await runStepSingleFlight("r", "s2", async () => COMPLETED)).toBe(COMPLETED);
    expect(await runStepSingleFlight("r2", "s", async () => COMPLETED)).toBe(COMPLETED);
    flight.resolve(COMPLETED);
    await first;
  });

  it("is not confused by names that run into each other", async () => {
    const flight = later<StepExecutionResult>();
    const first = runStepSingleFlight("a:b", "c", () => flight.promise);
    expect(await runStepSingleFlight("a", "b:c", async () => COMPLETED)).toBe(COMPLETED);
    flight.resolve(COMPLETED);
    await first;
  });

  it("whose execution throws before it waits is over as well", async () => {
    const execute = (): Promise<StepExecutionResult> => {
      throw new Error("at once");
    };
    await expect(runStepSingleFlight("r", "s", execute)).rejects.toThrow("at once");
    expect(await runStepSingleFlight("r", "s", async () => COMPLETED)).toBe(COMPLETED);
  });
});
