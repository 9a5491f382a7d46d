import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  DEFAULT_RETRY_DELAY_MS,
  FatalError,
  messageOf,
  RetryableError,
  throwFatalStepError,
  toStepError,
} from "./step-errors.ts";

const now = Date.UTC(2026, 0, 1);
beforeEach(() => void vi.useFakeTimers({ now }));
afterEach(() => void vi.useRealTimers());

const thrownBy = (fn: () => unknown): unknown => {
  try {
    fn();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
};

describe("FatalError and RetryableError", () => {
  test("a FatalError carries fatal, its name, its message and its cause", () => {
    const cause = new Error("inner");
    const error = new FatalError("no", { cause });
    expect([error.fatal, error.name, error.message, error.cause]).toEqual([true, "FatalError", "no", cause]);
    expect("cause" in new FatalError("no")).toBe(false);
  });

  test("retryAfter is always a Date: milliseconds from construction, an instant, or one second", () => {
    expect(new RetryableError("x", { retryAfter: 250 }).retryAfter.getTime()).toBe(now + 250);
    expect(new RetryableError("x", { retryAfter: 0 }).retryAfter.getTime()).toBe(now);
    expect(new RetryableError("x", { retryAfter: -5 }).retryAfter.getTime()).toBe(now - 5);
    expect(new RetryableError("x", { retryAfter: new Date(7) }).retryAfter.getTime()).toBe(7);
    expect(new RetryableError("x").retryAfter.getTime()).toBe(now + DEFAULT_RETRY_DELAY_MS);
    expect(DEFAULT_RETRY_DELAY_MS).toBe(1000);
  });

  test("the Date given is copied, so a later change to it changes nothing", () => {
    const at = new Date(7);
    const error = new RetryableError("x", { retryAfter: at });
    at.setTime(99);
    expect(error.retryAfter.getTime()).toBe(7);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 1e300, new Date(Number.NaN), "10" as unknown as number])(
    "a retryAfter of %s is refused with a TypeError",
    (retryAfter) => {
      expect(() => new RetryableError("x", { retryAfter })).toThrow(TypeError);
    },
  );

  test("E1: errors of another copy of the package are recognised, and plain errors are not", async () => {
    vi.resetModules();
    const other = await import("./step-errors.ts");
    expect(other.FatalError).not.toBe(FatalError);
    expect(FatalError.is(new other.FatalError("x"))).toBe(true);
    expect(RetryableError.is(new other.RetryableError("x"))).toBe(true);
    expect(new other.FatalError("x") instanceof FatalError).toBe(false);
    for (const value of [new Error("x"), new RetryableError("x"), null, undefined, "x", {}]) {
      expect(FatalError.is(value)).toBe(false);
    }
    expect(RetryableError.is(new FatalError("x"))).toBe(false);
  });

  test("E2: the brand does not show among an error's keys", () => {
    const error = new FatalError("x");
    const shown: PropertyKey[] = [];
    for (const key in error) shown.push(key);
    expect(shown.sort()).toEqual(["fatal", "name"]);
    expect(Object.getOwnPropertySymbols(error)).toEqual([]);
  });
});

describe("toStepError", () => {
  const answer = (status: number, headers: Record<string, string> = {}) =>
    new Response(null, { status, headers });

  test.each([408, 429, 500, 503, 599])("HTTP %i may pass, so it is retryable", (status) => {
    expect(RetryableError.is(toStepError(answer(status)))).toBe(true);
  });

  test.each([301, 400, 401, 404, 409, 422])("HTTP %i will not pass, so it is fatal", (status) => {
    const error = toStepError(answer(status));
    expect(FatalError.is(error)).toBe(true);
    expect(error.message).toContain(`HTTP ${status}`);
  });

  test("Retry-After is honoured as seconds and as a date, and garbage falls back to the default", () => {
    const at = (value: string) => {
      const error = toStepError(answer(429, { "retry-after": value }));
      return RetryableError.is(error) ? error.retryAfter.getTime() - now : undefined;
    };
    expect(at("7")).toBe(7000);
    expect(at(new Date(now + 60_000).toUTCString())).toBe(60_000);
    expect(at("whenever")).toBe(DEFAULT_RETRY_DELAY_MS);
  });

  test("the message is the caller's, or names status and address without query and credentials", () => {
    const response = answer(404);
    Object.defineProperty(response, "url", { value: "https://me:pw@example.org/a?key=secret#f" });
    expect(toStepError(response).message).toBe("HTTP 404 from https://example.org/a");
    expect(toStepError(response, "no such page").message).toBe("no such page");
    expect(toStepError(response).cause).toBe(response);
  });

  test("an error that says retryable or names a retryAfter maps the same way", () => {
    const sdk = (fields: object) => Object.assign(new Error("sdk"), fields);
    const at = (fields: object) => {
      const error = toStepError(sdk(fields));
      return RetryableError.is(error) ? error.retryAfter.getTime() - now : undefined;
    };
    expect(FatalError.is(toStepError(sdk({ retryable: false, retryAfter: 5 })))).toBe(true);
    expect(at({ retryable: true })).toBe(DEFAULT_RETRY_DELAY_MS);
    expect(at({ retryAfter: 250 })).toBe(250);
    expect(at({ retryAfter: new Date(now + 9) })).toBe(9);
    expect(at({ retryAfter: "3" })).toBe(3000);
    expect(at({ retryable: true, retryAfter: Number.NaN })).toBe(DEFAULT_RETRY_DELAY_MS);
    expect(at({ retryAfter: Number.NaN })).toBe(undefined);
  });

  test("any other error comes back unchanged, and what is no error is wrapped", () => {
    for (const error of [new TypeError("x"), new FatalError("x"), new RetryableError("x")]) {
      expect(toStepError(error, "ignored")).toBe(error);
    }
    const wrapped = toStepError("boom");
    expect([wrapped.message, wrapped.cause, FatalError.is(wrapped)]).toEqual(["boom", "boom", false]);
    expect(toStepError(undefined, "named").message).toBe("named");
  });
});

test("throwFatalStepError is fatal whatever the cause, and keeps an error that is fatal already", () => {
  const fatal = new FatalError("x");
  expect(thrownBy(() => throwFatalStepError(fatal))).toBe(fatal);
  for (const [cause, text] of [
    [new Response(null, { status: 503 }), "HTTP 503"],
    [new RetryableError("later"), "later"],
    ["boom", "boom"],
  ] as const) {
    const error = thrownBy(() => throwFatalStepError(cause));
    expect(FatalError.is(error) && [error.message, error.cause]).toEqual([text, cause]);
  }
  expect(messageOf(thrownBy(() => throwFatalStepError(fatal, "mine")))).toBe("mine");
});

test("messageOf has a text for everything that can be thrown", () => {
  expect(messageOf(new Error("a"))).toBe("a");
  expect(messageOf({ message: "b" })).toBe("b");
  expect(messageOf({ code: 7 })).toBe('{"code":7}');
  expect(messageOf(undefined)).toBe("undefined");
  expect(messageOf(Symbol("s"))).toBe("Symbol(s)");
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  expect(messageOf(cycle)).toBe("a value that cannot be printed was thrown");
});
