import { describe, it } from "vitest";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { eventLogConformance } from "../../src/testing/event-log-conformance.ts";

eventLogConformance(
  () => {
    const log = createMemoryLog();
    return { log, dispose: () => log.close() };
  },
  { describe, it },
);

describe("the conformance suite on a log that holds other data already", () => {
  eventLogConformance(
    async () => {
      const log = createMemoryLog();
      for (const stream of ["run-other", "hook-other"]) {
        await log.append(stream, "any", [
          { id: crypto.randomUUID(), type: "Even", data: { n: 1 }, metadata: {} },
        ])();
      }
      return { log, dispose: () => log.close() };
    },
    { describe, it },
  );
});
