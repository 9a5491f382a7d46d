/** Opening a log: what goes wrong is said in words that name the server and the remedy, and never the password. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { StoreError } from "../../src/events/store-error.ts";
import { type EventStoreSettings, openEventStoreLog } from "../../src/store-eventstore/index.ts";
import { collect, event, put, testScene } from "./kit.ts";

const scene = testScene();
const folder = mkdtempSync(join(tmpdir(), "runstream-eventstore-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const refusal = async (server: string | EventStoreSettings): Promise<string> => {
  const error: unknown = await openEventStoreLog(server, { deadlineMs: 10_000 }).then(
    (log) => log.close(),
    (failure: unknown) => failure,
  );
  expect(StoreError.is(error) && error.error._tag).toBe("Unavailable");
  return (error as StoreError).message;
};

/** A port at which nothing listens: one that a node had a moment ago. */
const deadPort = async (): Promise<number> => {
  const node = await scene.node();
  await node.stop();
  return node.port;
};

describe("a connection string that cannot be used", () => {
  const CASES: readonly (readonly [string, string, string])[] = [
    ["another protocol", "postgres://admin:s3cret@db:5432", "the connection string is not one"],
    ["no host", "esdb://", "the connection string is not one"],
    ["nothing", "", "the connection string is not one"],
    ["an unknown key", "esdb://admin:s3cret@db.example:2113?tsl=false", 'key "tsl"'],
    ["a key without a value", "esdb://admin:s3cret@db.example:2113?tls", '"tls" is not key=value'],
    ["a truth that is none", "esdb://admin:s3cret@db.example:2113?tls=maybe", "expected true or false"],
    ["a password with a colon", "esdb://admin:s3:cret@db.example:2113", "percent-encoded"],
    ["a password with a bare percent sign", "esdb://admin:s3%cret@db.example:2113", "percent-encoded"],
    ["a password with an @", "esdb://admin:s3@cret@db.example:2113", "percent-encoded"],
    ["a password with a ?", "esdb://admin:s3?cret@db.example:2113", "the connection string is not one"],
    ["a user without a password", "esdb://s3cret@db.example:2113", "not user:password"],
    ["a port that is none", "esdb://admin:s3cret@db.example:x", "expected port number"],
    [
      "a check that cannot be left out",
      "esdb://admin:s3cret@db.example:2113?tlsVerifyCert=false",
      "tlsCAFile",
    ],
    ["failures that are not thrown", "esdb://admin:s3cret@db?throwOnAppendFailure=false", "cannot be used"],
    ["a certificate that is not there", "esdb://admin:s3cret@db?tlsCAFile=/nowhere/ca.pem", "certificate"],
  ];
  it.each(CASES)("%s", async (_, server, what) => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const message = await refusal(server);
    expect(message).toContain(what);
    expect(message).not.toMatch(/s3|cret/);
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });
});

it("an option that makes no sense", async () => {
  const server = "esdb://admin:s3cret@db.example:2113";
  for (const options of [{ deadlineMs: 0 }, { heartbeatMs: Number.NaN }, { prefetch: -1 }]) {
    const [name] = Object.keys(options);
    await expect(openEventStoreLog(server, options)).rejects.toThrow(
      `esdb://db.example:2113: the option ${name} must`,
    );
  }
});

it("an option that says for ever, or asks for a part of an event", async () => {
  const node = await scene.node();
  const ever = Number.POSITIVE_INFINITY;
  const endless = { deadlineMs: ever, retryForMs: ever, reconnectForMs: ever, heartbeatMs: ever };
  for (const appends of ["plain", "batch"] as const) {
    const log = await scene.open(node.connectionString, { ...endless, prefetch: 1.5, appends });
    expect(await put(log, appends, "none", event())).toMatchObject({ revision: 0 });
    const watch = scene.consume(log, appends, {}, (item) => item.ack());
    await vi.waitFor(() => expect(watch.items.length).toBeGreaterThan(0), 30_000);
    const before = { ...node.counts.calls };
    // Timers that had overflowed would have asked for much in this time.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(node.counts.calls).toEqual(before);
    await log.close();
  }
});

it("a server that is not there", async () => {
  const port = await deadPort();
  const message = await refusal(`esdb://admin:s3cret@127.0.0.1:${port}?tls=false`);
  expect(message).toContain(`esdb://127.0.0.1:${port}: cannot be reached`);
  expect(message).not.toContain("s3cret");
});

it("a cluster of which no node is there", async () => {
  const port = await deadPort();
  const settings = { endpoints: [port, port].map((one) => ({ address: "127.0.0.1", port: one })) };
  const message = await refusal({
    connection: { ...settings, maxDiscoverAttempts: 2, discoveryInterval: 10 },
    channel: { insecure: true },
  });
  expect(message).toContain(`esdb://127.0.0.1:${port},127.0.0.1:${port}: cannot be reached`);
});

it("a server that wants TLS and is spoken to without, and the other way round", async () => {
  const [secure, insecure] = [await scene.node({ tls: true }), await scene.node()];
  for (const server of [`esdb://127.0.0.1:${secure.port}?tls=false`, `esdb://127.0.0.1:${insecure.port}`])
    expect(await refusal(server)).toMatch(/esdb:\/\/127\.0\.0\.1:\d+: /);
});

describe("with TLS", () => {
  const secure = async () => {
    const node = await scene.node({ tls: true });
    const ca = join(folder, `ca-${node.port}.pem`);
    writeFileSync(ca, node.rootCertificate ?? "");
    return { node, ca: encodeURIComponent(ca), host: `127.0.0.1:${node.port}` };
  };

  it.each(["plain", "batch"] as const)(
    "an administrator reads, writes and consumes, by %s appends",
    async (appends) => {
      const { ca, host } = await secure();
      const log = await scene.open(`esdb://admin:changeit@${host}?tlsCAFile=${ca}`, { appends });
      expect(await put(log, "a", "none", event())).toMatchObject({ revision: 0 });
      const watch = scene.consume(log, "g", {}, (item) => item.ack());
      await vi.waitFor(() => expect(watch.items).toHaveLength(1), 30_000);
      expect(await collect(log.read("a"))).toHaveLength(1);
    },
  );

  it("a login that is wrong, missing, or may not read the whole log", async () => {
    const { ca, host } = await secure();
    for (const who of ["admin:s3cret@", "", "guest:changeit@"]) {
      const message = await refusal(`esdb://${who}${host}?tlsCAFile=${ca}`);
      expect(message).toContain(`esdb://${host}: the login was refused`);
      expect(message).not.toMatch(/s3cret|changeit/);
    }
  });

  it("a certificate of an authority that nobody has named", async () => {
    const { host } = await secure();
    expect(await refusal(`esdb://admin:changeit@${host}`)).toContain(`esdb://${host}: cannot be reached`);
  });

  it("the client's own settings, with the certificate in memory", async () => {
    const { node } = await secure();
    const log = await openEventStoreLog({
      connection: { endpoint: { address: "127.0.0.1", port: node.port } },
      channel: { rootCertificate: Buffer.from(node.rootCertificate ?? "") },
      credentials: { username: "admin", password: "changeit" },
    });
    expect(await put(log, "a", "none", event())).toMatchObject({ revision: 0 });
    await log.close();
  });
});

it("a cluster is asked for its leader, and one node of it being gone does not matter", async () => {
  const [node, dead] = [await scene.node(), await deadPort()];
  const log = await scene.open(`esdb://127.0.0.1:${dead},127.0.0.1:${node.port}?tls=false`);
  expect(await put(log, "a", "none", event())).toMatchObject({ revision: 0 });
});

it("a cluster that advertises an address where nobody is says where it was looked for", async () => {
  const [node, dead] = [await scene.node(), await deadPort()];
  node.faults.switches.advertise = { host: "127.0.0.1", port: dead };
  const message = await refusal(`esdb://127.0.0.1:${node.port},127.0.0.1:${node.port}?tls=false`);
  expect(message).toContain("cannot be reached");
});
