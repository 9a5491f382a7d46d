/** The node as a process: what survives SIGKILL, TLS and who may do what, discovery, and faults set from outside. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  connect,
  contents,
  event,
  events,
  failureOf,
  gather,
  later,
  open,
  PLAIN,
  reachable,
  soon,
  WAYS,
} from "../esdb-node/kit.ts";
import { type NodeProcess, startNodeProcess } from "../esdb-node/node-process.ts";

const folder = async (): Promise<string> => {
  const path = await mkdtemp(join(tmpdir(), "esdb-node-"));
  later(() => rm(path, { recursive: true, force: true }));
  return path;
};

const start = async (options: Parameters<typeof startNodeProcess>[0]): Promise<NodeProcess> => {
  const node = await startNodeProcess(options);
  later(() => node.kill());
  return node;
};

test.each(WAYS)("every append that was acknowledged outlives SIGKILL, %s", async (_, way) => {
  const db = join(await folder(), "node.db");
  const node = await start({ db });
  const client = connect(node.connectionString);
  const acknowledged = new Map<string, number>();
  let killed = false;
  const writer = async (stream: string): Promise<void> => {
    for (let n = 0; !killed; n += 1) {
      const expectedRevision = n === 0 ? "no_stream" : BigInt(n - 1);
      try {
        await client.appendToStream(stream, event(n), { expectedRevision, ...way });
        acknowledged.set(stream, n);
      } catch {
        return;
      }
    }
  };
  const writers = ["a", "b", "c", "d"].map(writer);
  const enough = () => [...acknowledged.values()].reduce((sum, n) => sum + n, 0) >= 100;
  await soon(() => expect(enough()).toBe(true));
  await node.kill();
  killed = true;
  await Promise.all(writers);
  await start({ db, port: node.port });
  await reachable(client);
  for (const [stream, last] of acknowledged) {
    const there = await contents(client, stream);
    expect(there.slice(0, last + 1)).toEqual(Array.from({ length: last + 1 }, (_u, n) => `${n}:${n}`));
    expect(there.length).toBeLessThanOrEqual(last + 2);
  }
});

test("deletes, tombstones, metadata, positions and ids outlive a restart", async () => {
  const { node, client } = await open({ file: join(await folder(), "node.db") });
  const repeated = event(1);
  await client.appendToStream("kept", [event(0), repeated], PLAIN);
  await client.appendToStream("soft", events(2), PLAIN);
  await client.deleteStream("soft");
  await client.appendToStream("hard", event(), PLAIN);
  await client.tombstoneStream("hard");
  await client.setStreamMetadata("kept", { maxCount: 1 }, PLAIN);
  const before = await gather(client.readAll());
  await node.restart();
  await reachable(client);
  expect(await gather(client.readAll())).toEqual(before);
  expect(await contents(client, "kept")).toEqual(["1:1"]);
  expect(await failureOf(contents(client, "soft"))).toMatchObject({ type: "stream-not-found" });
  expect(await failureOf(contents(client, "hard"))).toMatchObject({ type: "stream-deleted" });
  const explicit = { expectedRevision: 0n, ...PLAIN };
  expect(await client.appendToStream("kept", repeated, explicit)).toMatchObject({ nextExpectedRevision: 1n });
  // What is known of ids without a revision to look at was in memory only.
  expect(await client.appendToStream("kept", repeated, PLAIN)).toMatchObject({ nextExpectedRevision: 2n });
  expect(await client.appendToStream("soft", event(2), PLAIN)).toMatchObject({ nextExpectedRevision: 2n });
});

test("faults, switches and counts are within reach of another process", async () => {
  const node = await start({});
  const client = connect(node.connectionString);
  expect(await node.tell({ fault: { on: "append", kind: "busy" } })).toEqual({ ok: true });
  expect(await failureOf(client.appendToStream("s", event(), PLAIN))).toMatchObject({ type: "unavailable" });
  await client.appendToStream("s", events(2), PLAIN);
  expect(await node.tell({ counts: true })).toMatchObject({
    ok: true,
    counts: { appends: 1, events: 2, calls: { append: 2 } },
  });
  expect(await node.tell({ switch: { caughtUpAgainAfter: 1 } })).toEqual({ ok: true });
  expect(await node.tell({ redeliver: true })).toEqual({ ok: true });
  expect(await node.tell({ clear: true })).toEqual({ ok: true });
});

describe("over TLS", () => {
  const secure = async () => {
    const path = await folder();
    const node = await start({ tls: true, certs: join(path, "certs") });
    const file = join(path, "ca.pem");
    await writeFile(file, node.rootCertificate!);
    const uri = (login: string) => node.connectionString.replace("://", `://${login}`);
    return (login: string) => connect(`${uri(login)}&tlsCAFile=${file}`);
  };

  test("an administrator may do everything", async () => {
    const client = (await secure())("admin:changeit@");
    expect(await client.appendToStream("s", event())).toMatchObject({ nextExpectedRevision: 0n });
    expect(await gather(client.readAll())).toHaveLength(6);
  });

  test("a user who is none may use streams, but neither $all nor system streams nor groups", async () => {
    const client = (await secure())("guest:changeit@");
    expect(await client.appendToStream("s", event())).toMatchObject({ nextExpectedRevision: 0n });
    expect(await contents(client, "s")).toEqual(["0:0"]);
    const refused = { type: "access-denied", code: 7 };
    expect(await failureOf(gather(client.readAll()))).toMatchObject(refused);
    expect(await failureOf(contents(client, "$users"))).toMatchObject(refused);
    expect(await failureOf(client.deletePersistentSubscriptionToStream("s", "g"))).toMatchObject(refused);
  });

  test("a wrong password is unauthenticated, none at all is denied", async () => {
    const as = await secure();
    expect(await failureOf(contents(as("admin:wrong@"), "s"))).toMatchObject({
      type: "access-denied",
      code: 16,
    });
    expect(await failureOf(contents(as(""), "s"))).toMatchObject({ type: "access-denied", code: 7 });
    expect(await failureOf(as("").appendToStream("s", event()))).toMatchObject({ type: "access-denied" });
  });

  test("a client that does not know the authority does not connect", async () => {
    const node = await start({ tls: true });
    const client = connect(node.connectionString.replace("://", "://admin:changeit@"));
    expect((await failureOf(client.appendToStream("s", event()))).code).toBe(14);
  });
});

describe("discovery", () => {
  const discovering = (port: number, more = "") =>
    connect(`esdb+discover://127.0.0.1:${port}?tls=false&maxDiscoverAttempts=2${more}`);

  test("leads to where the node says that it is", async () => {
    const { node } = await open();
    const client = discovering(node.port);
    expect(await client.appendToStream("s", event())).toMatchObject({ nextExpectedRevision: 0n });
    expect(node.counts.calls.gossip).toBe(1);
  });

  test("leads astray where the node says something else", async () => {
    const { node } = await open();
    node.faults.switches.advertise = { host: "127.0.0.1", port: 1 };
    expect((await failureOf(discovering(node.port).appendToStream("s", event()))).code).toBe(14);
    const other = await open();
    node.faults.switches.advertise = { host: "127.0.0.1", port: other.node.port };
    await discovering(node.port).appendToStream("s", event());
    expect([node.counts.appends, other.node.counts.appends]).toEqual([0, 1]);
  });
});
