/** Everything the command line does on a file it does on a server: the stand-in node, over real connections. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type StandInNode, startNode } from "../esdb-node/node.ts";
import { EXAMPLES, folder, launch, lines, runstream } from "./command-line.ts";

const GREET = join(EXAMPLES, "greet.ts");
const APPROVAL = join(EXAMPLES, "approval.ts");

const cwd = folder();
const cache = folder();
let node: StandInNode;
beforeAll(async () => {
  node = await startNode();
});
afterAll(() => node.stop());

const onServer = (...args: string[]) =>
  runstream([...args, "--store", node.connectionString], { cwd, env: { XDG_CACHE_HOME: cache } });

interface Fact {
  readonly type: string;
}

describe("on a server", () => {
  test("run drives a run to its end, and history, show and replay tell of it", async () => {
    const ran = await onServer("run", GREET, "--input", '{"name":"Ada"}', "--id", "greeting");
    expect({ code: ran.code, said: JSON.parse(ran.stdout) }).toMatchObject({
      code: 0,
      said: { greeting: "Hello, Ada!" },
    });
    const [history, show, replay] = await Promise.all([
      onServer("history", "greeting", "--json"),
      onServer("show", "greeting"),
      onServer("replay", "greeting", "--at", "0", "--json"),
    ]);
    const types = (lines(history.stdout) as Fact[]).map(({ type }) => type);
    expect([types[0], types.at(-1)]).toEqual(["RunCreated", "RunCompleted"]);
    expect(show.stdout).toMatch(/status +completed/);
    expect(JSON.parse(replay.stdout)).toMatchObject({ status: "pending" });
  });

  test("start, worker, ls, signal, wake and cancel share it between processes", async () => {
    const started = await onServer("start", APPROVAL, "--input", '{"order":"17"}', "--id", "order-17");
    expect(started).toMatchObject({ code: 0, stdout: "order-17\n" });
    await onServer("start", APPROVAL, "--input", '{"order":"18"}', "--id", "order-18");
    const worker = launch(["worker", APPROVAL, "--name", "first worker"], {
      cwd,
      env: { XDG_CACHE_HOME: cache, RUNSTREAM_STORE: node.connectionString },
    });
    await worker.says(/first worker is working on esdb:\/\/\S+; workflows: approval\./);
    await expect
      .poll(async () => (await onServer("show", "order-17")).stdout, { timeout: 60_000 })
      .toContain("approval/17");
    const signalled = await onServer("signal", "approval/17", "--payload", '{"approved":true,"by":"Ada"}');
    expect(signalled).toMatchObject({ code: 0 });
    await worker.says(/completed order-17/);
    expect((await onServer("wake", "order-18")).code).toBe(1);
    expect((await onServer("cancel", "order-18", "--reason", "ordered twice")).code).toBe(0);
    worker.child.kill("SIGTERM");
    expect((await worker.ended).code).toBe(0);

    const { runs } = JSON.parse((await onServer("ls", "--json", "--workflow", "approval")).stdout) as {
      readonly runs: readonly { readonly runId: string; readonly status: string }[];
    };
    expect(runs.map(({ runId, status }) => [runId, status])).toEqual([
      ["order-18", "cancelled"],
      ["order-17", "completed"],
    ]);
    // What servers have is indexed in the cache folder, and nothing is left where the commands were typed.
    expect(readdirSync(join(cache, "runstream")).some((name) => name.endsWith("-index"))).toBe(true);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test("doctor examines what it holds of runs", async () => {
    const { code, stdout } = await onServer("doctor", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      healthy: true,
      index: { unreadableRuns: [] },
      groups: [{ name: expect.stringMatching(/^runstream~[0-9a-f]{8}$/), inHand: 0, parked: 0 }],
    });
    expect((await onServer("doctor")).stdout).toMatch(
      /group runstream~\w+: 0 workers, 0 deliveries in hand, 0 set aside/,
    );
  });
});

describe.concurrent("a server that cannot be used is named, never with a password", () => {
  test.for([
    ["nobody listens", "esdb://ada:secret@127.0.0.1:1?tls=false", /127\.0\.0\.1:1/],
    ["a key that the client does not know", "esdb://ada:secret@localhost:2113?tsl=false", /"tsl"/],
  ] as const)("%s", async ([, store, words], { expect }) => {
    const elsewhere = folder();
    const { code, stdout, stderr } = await runstream(["ls", "--store", store], {
      cwd: elsewhere,
      env: { XDG_CACHE_HOME: elsewhere },
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^error: /);
    expect(stderr).toMatch(words);
    expect(stderr).not.toContain("secret");
    expect(existsSync(join(elsewhere, "runstream"))).toBe(false);
  });
});
