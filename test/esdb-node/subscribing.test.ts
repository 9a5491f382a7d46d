/** Catch-up subscriptions: their frames in order, filters, checkpoints, and the oddities of real servers that can be switched on. */
import {
  END,
  eventTypeFilter,
  excludeSystemEvents,
  type Filter,
  type Position,
  START,
  streamNameFilter,
} from "@eventstore/db-client";
import { describe, expect, test } from "vitest";
import { event, events, gather, Heard, later, listen, open } from "./kit.ts";

describe("to a stream", () => {
  test("confirms, tells what is there, says that it has caught up, and goes on live", async () => {
    const { client } = await open();
    await client.appendToStream("s", events(2));
    const heard = listen(client.subscribeToStream("s"));
    await heard.until((all) => all.includes("caughtUp"));
    await client.appendToStream("s", event());
    await client.appendToStream("other", event());
    await client.appendToStream("s", event());
    expect(await heard.count(6)).toEqual(["confirmation", "s/0", "s/1", "caughtUp", "s/2", "s/3"]);
  });

  test("begins after the revision that it is given", async () => {
    const { client } = await open();
    await client.appendToStream("s", events(3));
    const heard = listen(client.subscribeToStream("s", { fromRevision: 1n }));
    expect(await heard.count(3)).toEqual(["confirmation", "s/2", "caughtUp"]);
  });

  test("from the end tells only what comes", async () => {
    const { client } = await open();
    await client.appendToStream("s", events(3));
    const heard = listen(client.subscribeToStream("s", { fromRevision: END }));
    await heard.count(2);
    await client.appendToStream("s", event());
    expect(await heard.count(3)).toEqual(["confirmation", "caughtUp", "s/3"]);
  });

  test("that is not there yet waits for it", async () => {
    const { client } = await open();
    const heard = listen(client.subscribeToStream("s"));
    await heard.count(2);
    await client.appendToStream("s", event());
    expect(await heard.count(3)).toEqual(["confirmation", "caughtUp", "s/0"]);
  });

  test("ends with an error when the stream is tombstoned, and cannot begin then", async () => {
    const { client } = await open();
    await client.appendToStream("s", event());
    const heard = listen(client.subscribeToStream("s"));
    await heard.count(3);
    await client.tombstoneStream("s");
    expect(await heard.until((all) => all.includes("error stream-deleted"))).toContain(
      "error stream-deleted",
    );
    const late = listen(client.subscribeToStream("s"));
    expect(await late.count(1)).toEqual(["error stream-deleted"]);
  });
});

/** The events and checkpoints of a filtered subscription to `$all`, as `stream/revision` and `@index` of the record checkpointed. */
const filtered = async (
  scene: Awaited<ReturnType<typeof open>>,
  filter: Filter,
  fromPosition: Position | typeof START | typeof END = START,
) => {
  const heard = new Heard<string>();
  const subscription = scene.client.subscribeToAll({
    fromPosition,
    filter: { ...filter, checkpointReached: (_, { commit }) => heard.add(`@${commit}`) },
  });
  subscription.on("error", (error) => heard.add(`error ${error.message}`));
  subscription.on("caughtUp", () => heard.add("caughtUp"));
  subscription.on("data", ({ event: recorded }) => heard.add(`${recorded!.streamId}/${recorded!.revision}`));
  later(() => subscription.unsubscribe());
  return heard;
};

describe("to $all", () => {
  test("tells everything but the node's own book-keeping, and sends no checkpoints without a filter", async () => {
    const { client } = await open();
    await client.appendToStream("s", event());
    const heard = listen(client.subscribeToAll());
    await heard.until((all) => all.includes("caughtUp"));
    await client.appendToStream("s", event());
    expect(await heard.count(9)).toEqual([
      "confirmation",
      "$$$users/0",
      "$users/0",
      "$user-admin/0",
      "$users/1",
      "$user-ops/0",
      "s/0",
      "caughtUp",
      "s/1",
    ]);
  });

  test("begins after the position that it is given, and misses nothing between two subscriptions", async () => {
    const { client } = await open();
    await client.appendToStream("s", events(4));
    const all = await gather(client.readAll());
    const at = all.at(-3)!.event!.position!;
    const heard = listen(client.subscribeToAll({ fromPosition: at }));
    expect(await heard.count(4)).toEqual(["confirmation", "s/2", "s/3", "caughtUp"]);
  });

  test.each([
    [
      "prefixes of streams",
      streamNameFilter({ prefixes: ["run-", "hook-"] }),
      ["run-1/0", "run-1/1", "hook-1/0"],
    ],
    ["a pattern of streams", streamNameFilter({ regex: "^[rh].*-1$" }), ["run-1/0", "run-1/1", "hook-1/0"]],
    ["prefixes of types", eventTypeFilter({ prefixes: ["B"] }), ["run-1/1", "other/0"]],
    ["a pattern of types", eventTypeFilter({ regex: "^(A|C)" }), ["run-1/0", "hook-1/0"]],
    ["no system events", excludeSystemEvents(), ["run-1/0", "run-1/1", "hook-1/0", "other/0"]],
  ])("filters by %s", async (_, filter, expected) => {
    const scene = await open();
    await scene.client.appendToStream("run-1", [event(0, undefined, "Aa"), event(0, undefined, "Bb")]);
    await scene.client.appendToStream("hook-1", event(0, undefined, "Cc"));
    await scene.client.appendToStream("other", event(0, undefined, "Ba"));
    const heard = await filtered(scene, filter);
    const all = await heard.until((said) => said.includes("caughtUp"));
    expect(all.filter((one) => one.includes("/"))).toEqual(expected);
  });

  test("an ill-formed pattern ends it with an error", async () => {
    const heard = await filtered(await open(), streamNameFilter({ regex: "(" }));
    expect(await heard.count(1)).toEqual([expect.stringContaining("error 3 INVALID_ARGUMENT")]);
  });

  test("a checkpoint comes at the end of the history and after every window of considered records", async () => {
    const scene = await open();
    await scene.client.appendToStream("run-1", event());
    const heard = await filtered(
      scene,
      streamNameFilter({ prefixes: ["run-"], maxSearchWindow: 3, checkpointInterval: 2 }),
    );
    await heard.until((said) => said.includes("caughtUp"));
    for (let n = 0; n < 7; n += 1) await scene.client.appendToStream("other", event());
    await heard.count(4);
    const positions = (await gather(scene.client.readAll())).map(
      ({ event: recorded }) => `@${recorded!.position!.commit}`,
    );
    // Six records were there: one checkpoint for the interval of 6 that they fill, and the one at the end of the history.
    expect(heard.all).toEqual(["run-1/0", positions[5], positions[5], "caughtUp", positions[11]]);
  });

  test("resuming after a checkpoint misses nothing", async () => {
    const scene = await open();
    for (let n = 0; n < 40; n += 1) await scene.client.appendToStream("other", event());
    const first = await filtered(scene, streamNameFilter({ prefixes: ["run-"] }));
    const said = await first.until((all) => all.includes("caughtUp"));
    const commit = BigInt(
      said
        .filter((one) => one.startsWith("@"))
        .at(-1)!
        .slice(1),
    );
    await scene.client.appendToStream("run-1", event());
    const next = await filtered(scene, streamNameFilter({ prefixes: ["run-"] }), { commit, prepare: commit });
    expect((await next.until((all) => all.includes("caughtUp")))[0]).toBe("run-1/0");
  });

  test("a poison checkpoint is sent where it is switched on and nothing matched, and no checkpoint after it", async () => {
    const scene = await open();
    scene.node.faults.switches.poisonCheckpoint = true;
    const heard = await filtered(scene, streamNameFilter({ prefixes: ["run-"] }));
    await heard.until((said) => said.includes("caughtUp"));
    for (let n = 0; n < 40; n += 1) await scene.client.appendToStream("other", event());
    await scene.client.appendToStream("run-1", event());
    expect(await heard.count(3)).toEqual(["@18446744073709551615", "caughtUp", "run-1/0"]);
  });

  test("resuming after a poison checkpoint skips what there is", async () => {
    const scene = await open();
    await scene.client.appendToStream("run-1", event());
    const end = 2n ** 64n - 1n;
    const heard = await filtered(scene, streamNameFilter({ prefixes: ["run-"] }), {
      commit: end,
      prepare: end,
    });
    await heard.until((said) => said.includes("caughtUp"));
    await scene.client.appendToStream("run-1", event());
    await heard.until((said) => said.includes("run-1/1"));
    expect(heard.all).not.toContain("run-1/0");
  });

  test("caught up is said again where it is switched on", async () => {
    const { client, node } = await open();
    node.faults.switches.caughtUpAgainAfter = 2;
    const heard = listen(client.subscribeToStream("s"));
    await heard.count(2);
    await client.appendToStream("s", events(5));
    expect(await heard.count(9)).toEqual([
      "confirmation",
      "caughtUp",
      "s/0",
      "s/1",
      "caughtUp",
      "s/2",
      "s/3",
      "caughtUp",
      "s/4",
    ]);
  });
});

test("a reader that stops holds up itself alone, and gets all of it later", async () => {
  const { client } = await open();
  const slow = client.subscribeToStream("s");
  slow.on("error", () => undefined);
  later(() => slow.unsubscribe());
  await new Promise((resolve) => slow.on("caughtUp", () => resolve(undefined)).resume());
  slow.pause();
  const quick = listen(client.subscribeToStream("s"));
  await client.appendToStream("s", events(1_000));
  await quick.until((all) => all.at(-1) === "s/999");
  const revisions: bigint[] = [];
  for await (const { event: recorded } of slow) {
    revisions.push(recorded!.revision);
    if (revisions.length === 1_000) break;
  }
  expect(revisions).toEqual(Array.from({ length: 1_000 }, (_, n) => BigInt(n)));
});
