import { afterAll, beforeAll, describe, vi } from "vitest";
import { type StandInNode, startNode } from "../esdb-node/node.ts";
import { journalConformance, logConformance } from "./conformance-suites.ts";

vi.setConfig({ testTimeout: 60_000 });

const onANode = (name: string, suite: (server: () => string) => void): void => {
  describe(name, () => {
    let node: StandInNode;
    beforeAll(async () => {
      node = await startNode({ maxAppendSize: 4 * 1024 * 1024 });
    });
    afterAll(() => node.stop());
    suite(() => node.connectionString);
  });
};

onANode("the log, with a node that all cases share", (server) => logConformance(server));
onANode("the log, with batched appends", (server) => logConformance(server, { appends: "batch" }));
onANode("the journal", (server) => journalConformance(server));
