import { afterAll, beforeAll, describe } from "vitest";
import { type StandInNode, startNode } from "../esdb-node/node.ts";
import { journalConformance, logConformance } from "./conformance-suites.ts";

let node: StandInNode;
beforeAll(async () => {
  node = await startNode({ maxAppendSize: 4 * 1024 * 1024 });
});
afterAll(() => node.stop());

const server = () => node.connectionString;

describe("on a node that all cases share", () => logConformance(server));

describe("with batched appends", () => logConformance(server, { appends: "batch" }));

describe("the journal on a node", () => journalConformance(server));
