/** Every suite against the server that `RUNSTREAM_TEST_ESDB` names, as in `esdb://admin:changeit@localhost:2113`. */
import { describe, it } from "vitest";
import { everySuite } from "../store-eventstore/server-suites.ts";

const server = process.env.RUNSTREAM_TEST_ESDB;

if (server === undefined || server === "") {
  const reason = "RUNSTREAM_TEST_ESDB names no server (esdb://…), so none was tested";
  console.warn(`SKIPPED: ${reason}`);
  it.skip(reason, () => {});
} else {
  describe("the server that RUNSTREAM_TEST_ESDB names", () => everySuite(() => server));
}
