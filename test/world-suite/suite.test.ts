/** The Workflow SDK's own suite for Worlds, on each store; for EventStoreDB, on the stand-in node. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestSuite } from "@workflow/world-testing";
import { afterAll, beforeAll, beforeEach, describe } from "vitest";
import { type StandInNode, startNode } from "../esdb-node/node.ts";

const WORLD = "../../src/integrations/workflow-sdk/index.ts";

const folder = mkdtempSync(join(tmpdir(), "runstream-world-"));
let stores = 0;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("in a SQLite file", () => {
  beforeEach(() => {
    stores += 1;
    process.env.RUNSTREAM_STORE = join(folder, `${stores}.db`);
  });
  createTestSuite(WORLD);
});

describe("in memory", () => {
  beforeEach(() => {
    process.env.RUNSTREAM_STORE = ":memory:";
  });
  createTestSuite(WORLD);
});

describe("on EventStoreDB", () => {
  let node: StandInNode;
  beforeAll(async () => {
    node = await startNode();
  });
  afterAll(() => node.stop());
  beforeEach(() => {
    process.env.RUNSTREAM_STORE = node.connectionString;
  });
  createTestSuite(WORLD);
});
