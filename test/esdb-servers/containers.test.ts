/** Every suite against real servers in containers, where there is a Docker to run them. */
import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer, Wait } from "testcontainers";
import { afterAll, beforeAll, describe, it } from "vitest";
import { everySuite } from "../store-eventstore/server-suites.ts";

const PORT = 2113;
const SERVERS = [
  { image: "eventstore/eventstore:23.10.1-bookworm-slim", prefix: "EVENTSTORE" },
  { image: "eventstore/eventstore:24.10.0-bookworm-slim", prefix: "EVENTSTORE" },
  { image: "kurrentplatform/kurrentdb:26.0", prefix: "KURRENTDB" },
] as const;

const whyNot = await getContainerRuntimeClient().then(
  () => undefined,
  (error: unknown) => String(error),
);

for (const { image, prefix } of SERVERS) {
  if (whyNot !== undefined) {
    console.warn(`SKIPPED: ${image}: there is no Docker (${whyNot})`);
    it.skip(`${image}: there is no Docker`, () => {});
    continue;
  }
  describe(image, () => {
    let container: StartedTestContainer;
    beforeAll(async () => {
      container = await new GenericContainer(image)
        .withEnvironment({
          [`${prefix}_INSECURE`]: "true",
          [`${prefix}_MEM_DB`]: "true",
          [`${prefix}_RUN_PROJECTIONS`]: "None",
          [`${prefix}_MAX_APPEND_SIZE`]: String(4 * 1024 * 1024),
        })
        .withExposedPorts(PORT)
        .withWaitStrategy(Wait.forHttp("/health/live", PORT).forStatusCode(204))
        .withStartupTimeout(150_000)
        .start();
    }, 180_000);
    afterAll(() => container?.stop());
    everySuite(() => `esdb://${container.getHost()}:${container.getMappedPort(PORT)}?tls=false`);
  });
}
