/** The conformance suite over the stand-in node once more, with appends that go out in batches. */
import { afterAll, beforeAll, describe } from "vitest";
import { type StandInNode, startNode } from "../esdb-node/node.ts";
import { batchedLog } from "../store-eventstore/server-suites.ts";

describe("the stand-in node", () => {
  let node: StandInNode;
  beforeAll(async () => {
    node = await startNode({ maxAppendSize: 4 * 1024 * 1024 });
  });
  afterAll(() => node.stop());
  batchedLog(() => node.connectionString);
});
