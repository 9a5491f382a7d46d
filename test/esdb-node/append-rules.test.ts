/** The rules by which a server takes a repeated append for what it is; the numbers are those of append-rules.ts. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { EventLog } from "../../src/events/event-log.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { contents, event, events, failureOf, open, PLAIN, soon, WAYS } from "./kit.ts";

describe.each(WAYS)("idempotent appends, %s", (_, way) => {
  test("rule 1: a tombstoned stream takes nothing, whatever is expected", async () => {
    const { client } = await open();
    await client.appendToStream("s", event(), way);
    await client.tombstoneStream("s");
    for (const expectedRevision of ["any", "no_stream", "stream_exists", 0n, 7n] as const) {
      const failure = await failureOf(client.appendToStream("s", event(), { expectedRevision, ...way }));
      expect(failure).toMatchObject({ type: "stream-deleted", streamName: "s" });
    }
  });

  test("rule 2: stream_exists fails without a stream, and says deleted for a soft-deleted one", async () => {
    const { client } = await open();
    const absent = await failureOf(
      client.appendToStream("s", event(), { expectedRevision: "stream_exists", ...way }),
    );
    expect(absent).toMatchObject({
      type: "wrong-expected-version",
      actualVersion: "no_stream",
    });
    await client.appendToStream("s", event(), way);
    await client.deleteStream("s");
    const deleted = await failureOf(
      client.appendToStream("s", event(), { expectedRevision: "stream_exists", ...way }),
    );
    expect(deleted).toMatchObject({ type: "stream-deleted", streamName: "s" });
  });

  test("rule 2: a metadata stream is enough for stream_exists", async () => {
    const { client } = await open();
    await client.setStreamMetadata("s", { maxCount: 5 });
    const answer = await client.appendToStream("s", event(), { expectedRevision: "stream_exists", ...way });
    expect(answer.nextExpectedRevision).toBe(0n);
  });

  test.each(["any", "stream_exists"] as const)(
    "rule 3: with %s a repetition is known by its ids",
    async (expectedRevision) => {
      const { node, client } = await open();
      const batch = events(3);
      await client.appendToStream("s", event(9), way);
      const first = await client.appendToStream("s", batch, { expectedRevision, ...way });
      await client.appendToStream("s", event(10), way);
      const { appends } = node.counts;
      const again = await client.appendToStream("s", batch, { expectedRevision, ...way });
      expect(again).toEqual(first);
      expect(again.nextExpectedRevision).toBe(3n);
      expect(node.counts.appends).toBe(appends);
    },
  );

  test("rule 3: a known first id with an unknown later one is a wrong version", async () => {
    const { client } = await open();
    const known = event(1);
    await client.appendToStream("s", known, way);
    const failure = await failureOf(client.appendToStream("s", [known, event(2)], way));
    expect(failure).toMatchObject({ type: "wrong-expected-version", actualVersion: 0n });
    expect(await contents(client, "s")).toEqual(["0:1"]);
  });

  test("rule 3: an unknown first id is written, known later ones or not", async () => {
    const { client } = await open();
    const known = event(1);
    await client.appendToStream("s", known, way);
    await client.appendToStream("s", [event(2), known], way);
    expect(await contents(client, "s")).toEqual(["0:1", "1:2", "2:1"]);
  });

  test("rule 3: an id that was last written to another stream is written again", async () => {
    const { client } = await open();
    const one = event(1);
    await client.appendToStream("a", one, way);
    await client.appendToStream("b", one, way);
    await client.appendToStream("a", one, way);
    expect(await contents(client, "a")).toEqual(["0:1", "1:1"]);
  });

  test("rule 3: only recent ids are known", async () => {
    const { client } = await open({ idCacheBytes: 1_000 });
    const one = event(1);
    await client.appendToStream("s", one, way);
    await client.appendToStream("s", events(40, 2), way);
    const again = await client.appendToStream("s", one, way);
    expect(again.nextExpectedRevision).toBe(41n);
  });

  test("rule 4: at an old revision the same ids succeed with the old numbers, and nothing is written", async () => {
    const { node, client } = await open();
    const batch = events(2);
    await client.appendToStream("s", event(7), { expectedRevision: "no_stream", ...way });
    const first = await client.appendToStream("s", batch, { expectedRevision: 0n, ...way });
    await client.appendToStream("s", event(8), way);
    const { appends } = node.counts;
    expect(await client.appendToStream("s", batch, { expectedRevision: 0n, ...way })).toEqual(first);
    expect(node.counts.appends).toBe(appends);
  });

  test("rule 4: only ids are compared, not data", async () => {
    const { client } = await open();
    const id = randomUUID();
    await client.appendToStream("s", event(1, id), { expectedRevision: "no_stream", ...way });
    const again = await client.appendToStream("s", event(2, id), { expectedRevision: "no_stream", ...way });
    expect(again.nextExpectedRevision).toBe(0n);
    expect(await contents(client, "s")).toEqual(["0:1"]);
  });

  test("rule 4: another id, at the first place or a later one, is a wrong version", async () => {
    const { client } = await open();
    const batch = events(2);
    await client.appendToStream("s", batch, { expectedRevision: "no_stream", ...way });
    for (const wrong of [[event()], [batch[0]!, event()], [event(), batch[1]!]]) {
      const failure = await failureOf(
        client.appendToStream("s", wrong, { expectedRevision: "no_stream", ...way }),
      );
      expect(failure).toMatchObject({
        type: "wrong-expected-version",
        streamName: "s",
        actualVersion: 1n,
      });
    }
  });

  test("rule 4: a prefix succeeds with its own last number, a longer batch is a wrong version", async () => {
    const { client } = await open();
    const batch = events(3);
    await client.appendToStream("s", batch, { expectedRevision: "no_stream", ...way });
    const prefix = await client.appendToStream("s", batch.slice(0, 2), {
      expectedRevision: "no_stream",
      ...way,
    });
    expect(prefix.nextExpectedRevision).toBe(1n);
    const longer = [...batch, event(3)];
    const failure = await failureOf(
      client.appendToStream("s", longer, { expectedRevision: "no_stream", ...way }),
    );
    expect(failure).toMatchObject({ type: "wrong-expected-version", actualVersion: 2n });
  });

  test("rule 4: no_stream on a soft-deleted stream is written, but for the ids that were first there", async () => {
    const { client } = await open();
    const first = event(1);
    await client.appendToStream("s", first, { expectedRevision: "no_stream", ...way });
    await client.deleteStream("s");
    const same = await client.appendToStream("s", first, { expectedRevision: "no_stream", ...way });
    expect(same.nextExpectedRevision).toBe(0n);
    const other = await client.appendToStream("s", event(2), { expectedRevision: "no_stream", ...way });
    expect(other.nextExpectedRevision).toBe(1n);
    expect(await contents(client, "s")).toEqual(["1:2"]);
  });

  test("rule 5: at the current revision the same ids are written a second time", async () => {
    const { client } = await open();
    const one = event(1);
    await client.appendToStream("s", one, { expectedRevision: "no_stream", ...way });
    const again = await client.appendToStream("s", one, { expectedRevision: 0n, ...way });
    expect(again.nextExpectedRevision).toBe(1n);
    expect(await contents(client, "s")).toEqual(["0:1", "1:1"]);
  });

  test("rule 6: a revision that is not there yet is a wrong version", async () => {
    const { client } = await open();
    const absent = await failureOf(client.appendToStream("s", event(), { expectedRevision: 0n, ...way }));
    expect(absent).toMatchObject({ type: "wrong-expected-version", actualVersion: "no_stream" });
    await client.appendToStream("s", event(), way);
    const ahead = await failureOf(client.appendToStream("s", event(), { expectedRevision: 5n, ...way }));
    expect(ahead).toMatchObject({ type: "wrong-expected-version", actualVersion: 0n });
  });

  test("rule 3: known ids need not be next to each other; the number is the last one's", async () => {
    const { client } = await open();
    const [one, two] = [event(1), event(3)];
    await client.appendToStream("s", [one, event(2), two], way);
    const again = await client.appendToStream("s", [two, one], way);
    expect(again.nextExpectedRevision).toBe(0n);
  });

  test("an empty append succeeds with the stream as it is, and writes nothing", async () => {
    const { node, client } = await open();
    await client.appendToStream("s", events(2), way);
    const { appends } = node.counts;
    expect(await client.appendToStream("s", [], way)).toMatchObject({
      success: true,
      nextExpectedRevision: 1n,
    });
    expect(node.counts.appends).toBe(appends);
    const failure = await failureOf(client.appendToStream("s", [], { expectedRevision: 0n, ...way }));
    expect(failure).toMatchObject({ type: "wrong-expected-version", actualVersion: 1n });
  });
});

describe.each(WAYS)("what the log has not acknowledged, %s", (_, way) => {
  test("rule 7: a repetition of it is left without an answer until the server's time is up", async () => {
    const log = createMemoryLog();
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow: EventLog = {
      ...log,
      append: (stream, expected, batch) => async () => {
        if (stream === "s") await gate;
        return log.append(stream, expected, batch)();
      },
    };
    const { node, client } = await open({ log: slow, commitTimeoutMs: 30 });
    const one = event(1);
    const first = client.appendToStream("s", one, { expectedRevision: "no_stream", ...way });
    await soon(() => expect(node.counts.appends === 1).toBe(true));
    const again = await failureOf(client.appendToStream("s", one, { expectedRevision: "no_stream", ...way }));
    expect(again.type).toBe(way === PLAIN ? "timeout" : "deadline-exceeded");
    await expect(failureOf(contents(client, "s"))).resolves.toMatchObject({ type: "stream-not-found" });
    release();
    expect(await first).toMatchObject({ success: true, nextExpectedRevision: 0n });
    expect(await client.appendToStream("s", one, { expectedRevision: "no_stream", ...way })).toEqual(
      await first,
    );
  });
});
