/** What a World is told: options before the environment, the environment before the defaults, and refusals of what cannot be. */
import { expect, test } from "vitest";
import { keyOfRun, settingsOf } from "./settings.ts";

const KEY = Buffer.alloc(32, 7);

test("without options and environment a World has its defaults", () => {
  const { store, durability, baseUrl, deploymentId, encryptionKey, group, concurrency } = settingsOf({}, {});
  expect([store, durability, baseUrl(), deploymentId, encryptionKey, group, concurrency]).toEqual([
    "./runstream.db",
    "full",
    "http://localhost:3000",
    "dpl_runstream",
    undefined,
    "workflow-sdk",
    256,
  ]);
});

test.each([
  [{}, {}, "./runstream.db-index"],
  [{ store: "a.db" }, {}, "a.db-index"],
  [{ store: "a.db" }, { RUNSTREAM_INDEX: "env" }, "a.db-index"],
  [{}, { RUNSTREAM_STORE: "b.db" }, "b.db-index"],
  [{}, { RUNSTREAM_STORE: "b.db", RUNSTREAM_INDEX: "env" }, "env"],
  [{ index: "own" }, { RUNSTREAM_INDEX: "env" }, "own"],
  [{ store: ":memory:" }, {}, ":memory:"],
  [{ store: "esdb://localhost:2113?tls=false" }, {}, ":memory:"],
])("the run index of %o in %o is %s", (options, env, index) => {
  expect(settingsOf(options, env).index).toBe(index);
});

test("the environment speaks where an option does not, and an empty variable says nothing", () => {
  const env = {
    RUNSTREAM_STORE: "env.db",
    RUNSTREAM_DURABILITY: "normal",
    RUNSTREAM_DEPLOYMENT_ID: "",
    RUNSTREAM_ENCRYPTION_KEY: KEY.toString("hex"),
  };
  expect(settingsOf({}, env)).toMatchObject({
    store: "env.db",
    durability: "normal",
    deploymentId: "dpl_runstream",
    encryptionKey: KEY,
  });
  const options = { store: "own.db", durability: "full", encryptionKey: KEY.toString("base64") } as const;
  expect(settingsOf(options, env)).toMatchObject({ store: "own.db", durability: "full", encryptionKey: KEY });
});

test("where the application listens is looked up at each delivery", () => {
  const env: NodeJS.ProcessEnv = {};
  const { baseUrl } = settingsOf({}, env);
  env.PORT = "8080";
  expect(baseUrl()).toBe("http://localhost:8080");
  env.RUNSTREAM_BASE_URL = "https://app.example";
  expect(baseUrl()).toBe("https://app.example");
});

test("walks go to the workflow's queue, in the SDK's namespace where there is one", () => {
  expect(settingsOf({}, {}).workflowQueue("order")).toBe("__wkf_workflow_order");
  const { workflowQueue } = settingsOf({}, { WORKFLOW_QUEUE_NAMESPACE: "blue" });
  expect(workflowQueue("order")).toBe("__blue_wkf_workflow_order");
});

test.each([
  [{ encryptionKey: "c2hvcnQ=" }, /has 5 bytes; it is 32 bytes.*openssl rand -base64 32/],
  [{ concurrency: 0 }, /concurrency is 0; it is a whole number of 1 or more/],
  [{ concurrency: 1.5 }, /concurrency is 1.5/],
  [{ durability: "most" as "full" }, /The durability is "most"; it is "full" or "normal"/],
])("%o is refused", (options, said) => {
  expect(() => settingsOf(options, {})).toThrow(RangeError);
  expect(() => settingsOf(options, {})).toThrow(said);
});

test("each run has a key of its own, the same every time", () => {
  const key = keyOfRun(KEY, "wrun_1");
  expect(key).toHaveLength(32);
  expect(keyOfRun(KEY, "wrun_1")).toEqual(key);
  expect(keyOfRun(KEY, "wrun_2")).not.toEqual(key);
});
