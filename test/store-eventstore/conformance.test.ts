import { afterAll, beforeAll, describe, vi } from "vitest";
import { type StandInNode, startNode } from "../esdb-node/node.ts";
import { plainSuites } from "./server-suites.ts";

vi.setConfig({ testTimeout: 60_000 });

describe("the stand-in node", () => {
  let node: StandInNode;
  beforeAll(async () => {
    node = await startNode({ maxAppendSize: 4 * 1024 * 1024 });
  });
  afterAll(() => node.stop());
  plainSuites(() => node.connectionString);
});
