/** The command line is documented as it is: its commands and options, the environment, and the tour of the README, which is walked here. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { runCli } from "../../src/cli/program.ts";
import { openRunstream } from "../../src/index.ts";
import { allBlocks, blocksOf, documents, ROOT, read } from "./documents.ts";
import { makeWorkspace, type Workspace } from "./workspace.ts";

const helpOf = async (...command: string[]): Promise<string> => {
  let text = "";
  const spy = vi.spyOn(process.stdout, "write").mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  try {
    await runCli([...command, "--help"]);
  } finally {
    spy.mockRestore();
  }
  return text;
};

/** The long options of a help text, those of all commands left out. */
const ownOptions = (help: string): string[] => {
  const own = help.split("Global Options:")[0]!;
  return [...own.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)]
    .map(([, option]) => option!)
    .filter((it) => it !== "--help");
};

describe("the command line in the documentation", () => {
  const options = new Map<string, string[]>();
  let globals: string[];

  beforeAll(async () => {
    const help = await helpOf();
    globals = [...ownOptions(help), "--help"];
    const commands = help.split("Commands:")[1]!.matchAll(/^ {2}([a-z]+)/gm);
    for (const [, command] of commands)
      if (command !== "help") options.set(command!, ownOptions(await helpOf(command!)));
  });

  it("has a section for every command, with every option and no other", () => {
    const sections = read("docs/reference/cli.md")
      .split(/^### /m)
      .slice(1)
      .map((text) => text.split(/^## /m)[0]!);
    const documented = new Map(
      sections.map((section): [string, string[]] => [
        /^`(\w+)/.exec(section)![1]!,
        [...new Set([...section.matchAll(/(--[a-z][\w-]*)/g)].map(([, option]) => option!))]
          .filter((option) => !globals.includes(option))
          .sort(),
      ]),
    );
    const real = new Map(
      [...options].map(([command, own]): [string, string[]] => [command, [...own].sort()]),
    );
    expect([...documented.keys()].sort()).toEqual([...real.keys()].sort());
    for (const [command, own] of real) expect(documented.get(command), command).toEqual(own);
    const head = read("docs/reference/cli.md").split("## Commands")[0]!;
    expect(globals.filter((option) => !head.includes(`\`${option}`))).toEqual([]);
  });

  it("is called, in every example, by commands and options that exist", () => {
    const lines = allBlocks()
      .filter(({ language }) => language === "sh")
      .flatMap(({ at, text }) => text.split("\n").map((line) => ({ at, line })));
    const inProse = documents().flatMap((document) =>
      [...read(document).matchAll(/`(runstream [a-z][^`]*)`/g)].map(([, line]) => ({
        at: document,
        line: line!,
      })),
    );
    const calls = [...lines, ...inProse].filter(({ line }) => line.startsWith("runstream "));
    const wrong = calls.filter(({ line }) => {
      const words = line.split(/\s#\s|\s\|\s/)[0]!.split(/\s+/);
      const known = options.get(words[1]!);
      const used = words.filter((word) => /^--\w/.test(word));
      if (known === undefined)
        return !words[1]!.startsWith("-") && !words[1]!.startsWith("[") && words[1] !== "<command>";
      return used.some((option) => !known.includes(option) && !globals.includes(option));
    });
    expect(calls.length).toBeGreaterThan(15);
    expect(wrong).toEqual([]);
  });

  it("names the variables of the environment that the code reads, and no others", () => {
    const sources = (folder: string, name: RegExp): string =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
        .filter((file) => name.test(file))
        .map((file) => readFileSync(join(ROOT, folder, file), "utf8"))
        .join("\n");
    const found = (text: string, pattern: RegExp): string[] =>
      [...text.matchAll(pattern)].map(([, name]) => name!);
    const code = sources("src", /(?<!\.test)\.ts$/);
    const variables = new Set(found(code, /env\.(RUNSTREAM_\w+)/g));
    const named = (text: string): string[] => [...new Set(text.match(/RUNSTREAM_[A-Z_]+/g))].sort();
    expect(named(read("docs/reference/cli.md"))).toEqual([...variables].sort());
    const others = new Set([
      ...found(code, /readonly code = "(RUNSTREAM_\w+)"/g),
      ...found(sources("test/esdb-servers", /\.test\.ts$/), /env\.(RUNSTREAM_TEST_\w+)/g),
    ]);
    const everywhere = documents().flatMap((document) => named(read(document)));
    expect(everywhere.filter((name) => !variables.has(name) && !others.has(name))).toEqual([]);
  });
});

describe("the tour of the README", () => {
  let workspace: Workspace;
  beforeAll(() => {
    workspace = makeWorkspace();
  });
  afterAll(() => workspace.remove());

  const cli = (...args: string[]) =>
    spawn(join(ROOT, "node_modules/.bin/node"), [join(ROOT, "src/cli/main.ts"), ...args, "--json"], {
      cwd: workspace.folder,
      stdio: ["ignore", "pipe", "inherit"],
    });

  it("a run whose process is killed in a step is taken over by a worker, answered, and can be replayed", async () => {
    const block = blocksOf("README.md").find(({ words }) => words.includes("file=parcel.ts"))!;
    const shorter = block.text.replace("pause(5_000)", "pause(1_500)");
    expect(shorter).not.toBe(block.text);
    writeFileSync(join(workspace.folder, "parcel.ts"), shorter);

    const first = cli("run", "parcel.ts", "--input", '{"to":"Ada"}', "--id", "parcel-1");
    const gone = once(first, "exit");
    for await (const line of createInterface(first.stdout)) {
      const { type, data } = JSON.parse(line) as { type: string; data: { key?: string } };
      if (type === "AttemptClaimed" && data.key === "pack#0") first.kill("SIGKILL");
    }
    expect((await gone)[1]).toBe("SIGKILL");

    const worker = cli("worker", "parcel.ts");
    const stopped = once(worker, "exit");
    const runstream = openRunstream({ store: join(workspace.folder, "runstream.db") });
    try {
      for await (const line of createInterface(worker.stdout)) {
        if ((JSON.parse(line) as { what: string }).what === "walking") break;
      }
      await vi.waitFor(async () => expect(await runstream.signal("customs/Ada", { ok: true })).toBe(true), {
        timeout: 30_000,
        interval: 25,
      });
      const outcome = await runstream.result("parcel-1", { timeoutMs: 30_000 });
      expect(outcome).toMatchObject({
        status: "completed",
        output: { label: "label for Ada", cleared: true },
      });

      const claims: string[] = [];
      for await (const { event } of runstream.history("parcel-1"))
        if (event.type === "AttemptClaimed") claims.push(event.data.key);
      expect(claims).toEqual(["print the label#0", "pack#0", "pack#0"]);
      const before = await runstream.stateAt("parcel-1", 4);
      expect([...before!.steps.entries()].map(([key]) => key)).toEqual(["print the label#0"]);
    } finally {
      worker.kill("SIGTERM");
      await stopped;
      await runstream.stop();
    }
    expect(await stopped).toEqual([0, null]);
  }, 90_000);
});
