import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { openSqliteLog } from "../../src/store-sqlite/index.ts";
import { eventLogConformance } from "../../src/testing/event-log-conformance.ts";

const folder = mkdtempSync(join(tmpdir(), "runstream-conformance-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

eventLogConformance(
  () => {
    files += 1;
    const path = join(folder, `log-${files}.db`);
    const log = openSqliteLog(path);
    return { log, reopen: async () => openSqliteLog(path), dispose: () => log.close() };
  },
  { describe, it },
);

describe("one file shared by all cases", () => {
  const path = join(folder, "shared.db");
  eventLogConformance(
    () => {
      const log = openSqliteLog(path);
      return { log, reopen: async () => openSqliteLog(path), dispose: () => log.close() };
    },
    { describe, it },
  );
});

describe("in memory", () => {
  eventLogConformance(
    () => {
      const log = openSqliteLog(":memory:");
      return { log, dispose: () => log.close() };
    },
    { describe, it },
  );
});
