/** A process that has closed its log ends: nothing is left open. */
import { expect, it } from "vitest";
import { testScene } from "./kit.ts";

const scene = testScene();

it.each(["plain", "batch"])(
  "a process ends by itself when its log is closed, with %s appends",
  async (appends) => {
    const node = await scene.node();
    const process = scene.start("leaving-process.ts", [node.connectionString, appends]);
    expect((await process.lines.next()).value).toBe("closed");
    expect(await process.gone).toEqual([0, null]);
  },
);

it("a process ends by itself when the server is gone before its log is closed", async () => {
  const node = await scene.node();
  const process = scene.start("leaving-process.ts", [node.connectionString, "plain", "wait"]);
  expect((await process.lines.next()).value).toBe("ready");
  await node.kill();
  expect((await process.lines.next()).value).toBe("closed");
  expect(await process.gone).toEqual([0, null]);
});
