import { describe, expect, test } from "vitest";
import { EXIT } from "../../src/cli/usage-error.ts";
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
  ["resume", ["<thread>", "--answer", "--module", "--question", "--workflow"]],
  ["continue", ["<thread>", "--module", "--workflow"]],
  ["state", ["<thread>", "--step"]],
  ["doctor", []],
];

describe.concurrent("--help", () => {
  const cwd = folder();

  test.for(COMMANDS)(
    "of %s names its options, the ones of all commands, and an example",
    async ([command, own], { expect }) => {
      const { code, stdout, stderr } = await runstream([command, "--help"], { cwd });
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      for (const word of [
        ...own,
        "--store",
        "--db",
        "--index",
        "--json",
        "--no-color",
        "--help",
        "Examples:",
        `$ `,
      ])
        expect(stdout).toContain(word);
    },
  );

  test.for([[], ...COMMANDS.map(([command]) => [command])])(
    "of %j is wrapped to 80 columns, and no line of prose is broken before its width",
    async (command, { expect }) => {
      const { stdout } = await runstream([...command, "--help"], { cwd });
      const rows = stdout.split("\n");
      expect(rows.filter((row) => row.length > 80)).toEqual([]);
      const prose = stdout
        .split(/\n(?:Arguments|Options):\n/)[0]!
        .split("\n")
        .slice(2);
      const early = prose.filter((row, at) => {
        const next = prose[at + 1]?.split(" ")[0] ?? "";
        return row !== "" && next !== "" && row.length + 1 + next.length < 80;
      });
      expect(early).toEqual([]);
    },
  );

  test("of the program lists every exit code, and that of replay shows --at as required", async ({
    expect,
  }) => {
    const [program, replay] = await Promise.all([
      runstream(["--help"], { cwd }),
      runstream(["replay", "--help"], { cwd }),
    ]);
    for (const code of Object.values(EXIT))
      expect(program.stdout).toMatch(new RegExp(`^ {2}${code} {2,}`, "m"));
    expect(replay.stdout).toContain("Usage: runstream replay [options] <run> --at <revision>\n");
  });

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
