import { describe, expect, test } from "vitest";
import { folder, runstream } from "./command-line.ts";

const COMMANDS: readonly (readonly [string, readonly string[]])[] = [
  ["run", ["<module>", "[workflow]", "--input", "--key", "--id", "--tenant", "--detach-when-parked", "130"]],
  ["worker", ["<module>", "--concurrency", "--step-concurrency", "--grace", "--quiet"]],
  ["start", ["<module>", "[workflow]", "--input", "--key", "--id", "--tenant"]],
  ["ls", ["--workflow", "--status", "--key", "--limit", "--cursor"]],
  ["show", ["<run>"]],
  ["history", ["<run>", "--from", "--to"]],
  ["replay", ["<run>", "--at"]],
  ["signal", ["<token>", "--payload"]],
  ["wake", ["<run>", "--id"]],
  ["cancel", ["<run>", "--reason"]],
  ["doctor", []],
];

describe.concurrent("--help", () => {
  const cwd = folder();

  test.for(COMMANDS)(
    "of %s names its options, the ones of all commands, and an example",
    async ([command, own], { expect }) => {
      const { code, stdout, stderr } = await runstream([command, "--help"], { cwd });
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      for (const word of [...own, "--db", "--json", "--no-color", "--help", "Examples:", `$ `])
        expect(stdout).toContain(word);
    },
  );

  test("of the program names every command", async ({ expect }) => {
    const { code, stdout } = await runstream(["--help"], { cwd });
    expect(code).toBe(0);
    for (const [command] of COMMANDS) expect(stdout).toMatch(new RegExp(`^ {2}${command} `, "m"));
  });

  test("is printed on standard error, with exit code 2, where no command was given", async ({ expect }) => {
    const { code, stdout, stderr } = await runstream([], { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("Usage: runstream");
  });
});

test("--version prints the version of the package", async () => {
  const { version } = (await import("../../package.json", { with: { type: "json" } })).default;
  const { code, stdout } = await runstream(["--version"], { cwd: folder() });
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${version}\n` });
});
