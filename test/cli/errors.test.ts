import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeAll, describe, expect, test } from "vitest";
import { openRunstream } from "../../src/index.ts";
import { openSqliteLog } from "../../src/store-sqlite/index.ts";
import { EXAMPLES, folder, runstream, write } from "./command-line.ts";

const GREET = join(EXAMPLES, "greet.ts");
const RETRY = join(EXAMPLES, "retry.ts");

const cwd = folder();
beforeAll(async () => {
  await openRunstream({ store: join(cwd, "runstream.db") }).stop();
});

/** What a command says that is refused: nothing on standard output, and no stack trace. */
const refused = async (
  args: readonly string[],
  where = cwd,
): Promise<{ code: number | null; stderr: string }> => {
  const { code, stdout, stderr } = await runstream(args, { cwd: where });
  expect(stdout).toBe("");
  expect(stderr).toMatch(/^error: /);
  expect(stderr).not.toMatch(/^ +at /m);
  return { code, stderr };
};

describe.concurrent("what is asked wrongly ends with exit code 2, and makes no store:", () => {
  const empty = folder();
  write(empty, "no-workflows.ts", "export const answer = 42;\n");
  write(empty, "bad-syntax.ts", "export const a = = 1;\n");
  write(empty, "throws.mjs", '\nthrow new Error("no database here");\n');
  write(empty, "missing-import.ts", 'import { x } from "./nowhere.ts";\nexport default x;\n');
  write(empty, "input.json", '{\n  "name": "Ada",\n}\n');

  test.for<readonly [string, readonly string[], string | RegExp]>([
    ["an unknown command", ["lss"], "unknown command 'lss'\n(Did you mean ls?)"],
    [
      "an unknown option",
      ["ls", "--stauts", "failed"],
      "unknown option '--stauts'\n(Did you mean --status?)",
    ],
    ["a missing argument", ["show"], "missing required argument 'run'"],
    ["a missing option", ["replay", "x"], "required option '--at <revision>' not specified"],
    ["a revision that is none", ["replay", "x", "--at", "-1"], "It must be a whole number of 0 or more."],
    ["a module that is not there", ["run", "nowhere.ts"], 'There is no module "nowhere.ts"'],
    ["a module without workflows", ["worker", "no-workflows.ts"], "no-workflows.ts exports no workflow."],
    [
      "a module with a syntax error",
      ["run", "bad-syntax.ts"],
      /cannot be imported: Expression expected\n.*bad-syntax\.ts:1\n/,
    ],
    ["a module that throws", ["start", "throws.mjs"], /no database here \(.*throws\.mjs:2\)/],
    ["a module that imports what is not there", ["run", "missing-import.ts"], "Cannot find module"],
    [
      "a misspelt workflow",
      ["run", RETRY, "flakey"],
      'exports no workflow "flakey". Did you mean "flaky"? It exports: flaky, hopeless.',
    ],
    [
      "no workflow where there are several",
      ["start", RETRY],
      "exports several workflows; say which one: flaky, hopeless.",
    ],
    [
      "bad JSON",
      ["run", GREET, "-i", '{"name" "Ada"}'],
      '--input is not JSON: line 1, column 9: expected a colon, but there is "\\"".',
    ],
    [
      "bad JSON in a file",
      ["start", GREET, "-i", "@input.json"],
      '--input (input.json) is not JSON: line 3, column 1: expected a name in double quotes (") or }, but there is "}".',
    ],
    [
      "an input file that is not there",
      ["run", GREET, "-i", "@no.json"],
      '--input cannot be read from "no.json"',
    ],
    ["an input that is no object", ["run", GREET, "-i", "[1]"], "--input must be a JSON object"],
  ])("%s", async ([, args, said], { expect }) => {
    const { code, stderr } = await refused(args, empty);
    expect(code).toBe(2);
    if (typeof said === "string") expect(stderr).toContain(said);
    else expect(stderr).toMatch(said);
    expect(readdirSync(empty).filter((name) => name.includes(".db"))).toEqual([]);
  });
});

describe.concurrent("what cannot be done says why:", () => {
  test("a status that no run has suggests the near one", async ({ expect }) => {
    expect(await refused(["ls", "--status", "runing"])).toEqual({
      code: 2,
      stderr:
        'error: There is no status "runing". Did you mean "running"? A run is pending, running, completed, failed, cancelled, awaiting_input, interrupted.\n',
    });
  });

  test("a cursor that no page printed is refused", async ({ expect }) => {
    const { code, stderr } = await refused(["ls", "--cursor", "abc"]);
    expect(code).toBe(2);
    expect(stderr).toContain("The cursor is none that a listing answered.");
  });

  test.for(["ls", "show x", "history x", "signal x", "cancel x", "doctor"])(
    "%s where there is no store says so, and makes none",
    async (command, { expect }) => {
      const empty = folder();
      const { code, stderr } = await refused(command.split(" "), empty);
      expect(code).toBe(1);
      expect(stderr).toBe(
        'error: There is no store at ./runstream.db. Name one with --store or RUNSTREAM_STORE; "runstream run" and "runstream start" make it.\n',
      );
      expect(readdirSync(empty)).toEqual([]);
    },
  );

  test("a file that is no store is refused, and stays as it is", async ({ expect }) => {
    const text = write(cwd, "letter.db", "Dear Ada,\n");
    const other = join(cwd, "other.db");
    const database = new DatabaseSync(other);
    database.exec("CREATE TABLE t (x)");
    database.close();
    const before = readFileSync(other);
    const [ofText, ofOther, doctor] = await Promise.all([
      refused(["ls", "--db", text]),
      refused(["start", GREET, "--db", other]),
      runstream(["doctor", "--db", text], { cwd }),
    ]);
    expect(ofText).toMatchObject({ code: 1, stderr: expect.stringContaining("is not a Runstream log") });
    expect(ofOther).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is a SQLite database of another program"),
    });
    expect(doctor).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("letter.db: needs attention\n  ✗ "),
    });
    expect(readFileSync(text, "utf8")).toBe("Dear Ada,\n");
    expect(readFileSync(other)).toEqual(before);
  });

  test("a store that another program keeps locked is said to be locked", async ({ expect }) => {
    const path = join(folder(), "locked.db");
    await openRunstream({ store: path }).stop();
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const { code, stderr } = await refused(["start", GREET, "--db", path]);
    other.close();
    expect(code).toBe(1);
    expect(stderr).toContain(
      "another process kept the write lock for longer than the busy timeout; try again",
    );
  });

  test("a signal that nobody waits for is refused, not kept", async ({ expect }) => {
    const [text, json] = await Promise.all([
      refused(["signal", "approval/99"]),
      runstream(["signal", "approval/99", "--json"], { cwd }),
    ]);
    expect(text.code).toBe(1);
    expect(text.stderr).toContain('Nobody waits for "approval/99"');
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toEqual({ token: "approval/99", accepted: false });
  });

  test("doctor ends with 1 where a delivery was set aside or a run cannot be read, and names them", async ({
    expect,
  }) => {
    const path = join(folder(), "attention.db");
    const log = openSqliteLog(path);
    const newer = { id: randomUUID(), type: "RunCreated", data: {}, metadata: { v: 999 } };
    await log.append("run-from-the-future", "none", [newer])();
    await new Promise<void>((parked) => {
      log.consume("sorters", { filter: { streamPrefix: "run-" } }).subscribe(({ nack }) => {
        nack("park", "nobody knows what this is");
        parked();
      });
    });
    await log.close();
    const { code, stdout } = await runstream(["doctor", "--json", "--db", path], { cwd });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      healthy: false,
      attention: [
        expect.stringMatching(/^Run from-the-future cannot be read: /),
        "1 deliveries of group sorters were set aside",
      ],
      log: { healthy: true, events: 1 },
      index: { exists: false },
    });
  });

  test("RUNSTREAM_DEBUG shows where an error came from", async ({ expect }) => {
    const { code, stderr } = await runstream(["show", "nobody"], { cwd, env: { RUNSTREAM_DEBUG: "1" } });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: CliError: There is no run "nobody"/);
    expect(stderr).toMatch(/^ +at resolveRun /m);
  });
});
