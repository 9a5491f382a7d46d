import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isGone, looksGone, thisProcess } from "../../src/store-sqlite/owners.ts";

const me = thisProcess();
const now = Date.now();

describe("an owner", () => {
  it("whose process is there lives", () => {
    expect([isGone(me, now), looksGone(me), isGone({ ...me, pid: process.ppid, started: "" }, now)]).toEqual([
      false,
      false,
      false,
    ]);
  });

  it("whose process has ended is gone at once", async () => {
    const child = spawn(process.execPath, ["-e", ""]);
    const pid = child.pid!;
    await once(child, "exit");
    expect([isGone({ ...me, pid }, now), looksGone({ ...me, pid })]).toEqual([true, true]);
  });

  it("whose process number was given to a later process is gone", (context) => {
    if (!existsSync("/proc/self/stat"))
      context.skip("NOT TESTED: this system does not tell when a process started");
    expect(isGone({ ...me, started: "12345" }, now)).toBe(true);
  });

  it("of this machine before it was started anew is gone", () => {
    expect(isGone({ ...me, boot: "an earlier one" }, now)).toBe(true);
  });

  it("that cannot be looked up is gone after half a minute of silence", () => {
    for (const far of [
      { ...me, host: "elsewhere" },
      { ...me, namespace: "pid:[1]" },
    ]) {
      expect([isGone(far, now - 29_000), isGone(far, now - 31_000), looksGone(far)]).toEqual([
        false,
        true,
        false,
      ]);
    }
  });

  it("whose process is there but has been silent for two minutes is gone", () => {
    expect([isGone(me, now - 60_000), isGone(me, now - 121_000)]).toEqual([false, true]);
  });
});
