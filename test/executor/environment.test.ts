/** The environment is read at every call, and the names of errors are all that is looked at in them. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { deploymentUrl, flag, setting, wholeNumber } from "../../src/executor/environment.ts";
import {
  EntityConflictError,
  HookNotFoundError,
  PreconditionFailedError,
  RunExpiredError,
  RunNotSupportedError,
  ThrottleError,
  TooEarlyError,
  WorkflowRunNotFoundError,
  WorkflowWorldError,
} from "../../src/executor/index.ts";
import { fieldOf, nameOf } from "../../src/executor/thrown.ts";
import { retryAfterSeconds, worldAnswerOf } from "../../src/executor/world-errors.ts";

const NAME = "WORKFLOW_TEST_SETTING";

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("a setting", () => {
  it.each([
    [undefined, undefined, undefined],
    ["", undefined, undefined],
    ["1", "1", true],
    ["True", "True", true],
    ["0", "0", false],
    ["FALSE", "FALSE", false],
    ["on", "on", undefined],
  ])("of %s is the text %s and the switch %s", (value, text, position) => {
    vi.stubEnv(NAME, value);
    expect(setting(NAME)).toBe(text);
    expect(flag(NAME)).toBe(position);
  });

  it("of a number is held between its bounds, and is read again at every call", () => {
    vi.stubEnv(NAME, "7");
    expect(wholeNumber(NAME, 5, 1, 10)).toBe(7);
    vi.stubEnv(NAME, "70");
    expect(wholeNumber(NAME, 5, 1, 10)).toBe(10);
    vi.stubEnv(NAME, undefined);
    expect(wholeNumber(NAME, 5, 1, 10)).toBe(5);
  });

  it("of the deployment's address is read again at every call", () => {
    vi.stubEnv("VERCEL_URL", undefined);
    vi.stubEnv("PORT", "4000");
    expect(deploymentUrl()).toBe("http://localhost:4000");
    vi.stubEnv("VERCEL_URL", "a.example");
    expect(deploymentUrl()).toBe("https://a.example");
  });
});

describe("a World's error", () => {
  it.each([
    [new EntityConflictError("m"), "EntityConflictError", 409, "conflict"],
    [new RunExpiredError("m"), "RunExpiredError", 410, "expired"],
    [new PreconditionFailedError("m"), "PreconditionFailedError", 412, undefined],
    [new TooEarlyError("m"), "TooEarlyError", 425, "tooEarly"],
    [new ThrottleError("m"), "ThrottleError", 429, "throttled"],
    [new WorkflowWorldError("m", { status: 503, code: "TRANSPORT" }), "WorkflowWorldError", 503, undefined],
  ])("has the name and the status that are looked for: %s", (error, name, status, answer) => {
    expect([error.name, error.status, error.message]).toEqual([name, status, "m"]);
    expect(worldAnswerOf(error)).toBe(answer);
    expect(worldAnswerOf({ name })).toBe(answer);
    expect(error).toBeInstanceOf(WorkflowWorldError);
  });

  it("says what is missing, and where to look", () => {
    expect(new HookNotFoundError("tok")).toMatchObject({
      name: "HookNotFoundError",
      token: "tok",
      message: 'No live hook has the token or id "tok": it was answered for good, disposed, or never opened',
    });
    expect(new WorkflowRunNotFoundError("wrun_9")).toMatchObject({
      name: "WorkflowRunNotFoundError",
      runId: "wrun_9",
      message: 'There is no run "wrun_9"',
    });
    expect(new RunNotSupportedError(6, 5)).toMatchObject({
      name: "RunNotSupportedError",
      runSpecVersion: 6,
      worldSpecVersion: 5,
    });
  });

  it.each([[undefined], [null], [1], ["EntityConflictError"], [{}], [{ name: 5 }], [{ name: "toString" }]])(
    "is not %o",
    (value) => {
      expect(worldAnswerOf(value)).toBeUndefined();
    },
  );

  it.each([
    [{ retryAfter: 7 }, 7],
    [{ retryAfter: 0.2 }, 1],
    [{ retryAfter: -4 }, 1],
    [{ retryAfter: "7" }, 1],
    [{ retryAfter: Number.NaN }, 1],
    [{}, 1],
  ])("of %o asks for %i seconds", (error, seconds) => {
    expect(retryAfterSeconds(error)).toBe(seconds);
  });
});

describe("looking at what was thrown", () => {
  it("never throws", () => {
    const hostile = {
      get name(): string {
        throw new Error("do not look");
      },
    };
    expect(nameOf(hostile)).toBeUndefined();
    expect(fieldOf(hostile, "name")).toBeUndefined();
    expect(nameOf(Proxy.revocable({}, {}).proxy)).toBeUndefined();
  });
});
