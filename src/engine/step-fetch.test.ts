import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runAsStep } from "./step-context.ts";
import { FatalError, messageOf, RetryableError } from "./step-errors.ts";
import { stepFetchOrFail } from "./step-fetch.ts";

let server: Server;
let base: string;
let arrived: () => void = () => undefined;

beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === "/hangs") return arrived();
    const status = Number(request.url?.slice(1, 4));
    response.writeHead(status, status === 429 ? { "retry-after": "5" } : {}).end("body");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

const inStep = <T>(signal: AbortSignal, fn: () => Promise<T>) =>
  runAsStep({ name: "a", key: "a#0", attempt: 1, maxAttempts: 3, signal }, fn);

test("an answer in 2xx comes back readable", async () => {
  expect(await (await stepFetchOrFail(`${base}/200`)).text()).toBe("body");
});

test("429 is retryable not before its Retry-After, 404 is fatal, and both name status and address", async () => {
  const before = Date.now();
  const busy = await failureOf(stepFetchOrFail(`${base}/429?key=secret`));
  expect(RetryableError.is(busy) && busy.retryAfter.getTime() - before).toBeGreaterThanOrEqual(5000);
  expect(messageOf(busy)).toBe(`HTTP 429 Too Many Requests from ${base}/429`);
  const missing = await failureOf(stepFetchOrFail(new URL(`${base}/404`)));
  expect([FatalError.is(missing), messageOf(missing)]).toEqual([true, `HTTP 404 Not Found from ${base}/404`]);
});

test.each(["the walk's signal", "the caller's signal", "the request's own signal"])(
  "a fetch in flight ends with %s, by its reason",
  async (which) => {
    const walk = new AbortController();
    const caller = new AbortController();
    const reached = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const failed = failureOf(
      inStep(walk.signal, () =>
        which === "the request's own signal"
          ? stepFetchOrFail(new Request(`${base}/hangs`, { signal: caller.signal }))
          : stepFetchOrFail(`${base}/hangs`, { signal: caller.signal }),
      ),
    );
    await reached;
    const reason = new Error("enough");
    (which === "the walk's signal" ? walk : caller).abort(reason);
    expect(await failed).toBe(reason);
  },
);

test("a connection that cannot be made is an ordinary failure, neither fatal nor delayed", async () => {
  const error = await failureOf(stepFetchOrFail("http://127.0.0.1:1/"));
  expect([error instanceof TypeError, FatalError.is(error), RetryableError.is(error)]).toEqual([
    true,
    false,
    false,
  ]);
});
