import { afterEach, expect, test, vi } from "vitest";
import { consoleLogger, silentLogger } from "./logger.ts";

const lines: string[] = [];
const capture = () =>
  vi.spyOn(process.stderr, "write").mockImplementation((chunk) => {
    lines.push(String(chunk));
    return true;
  });

afterEach(() => {
  vi.restoreAllMocks();
  lines.length = 0;
});

test("a record is one line on stderr: level, message, fields as compact JSON", () => {
  capture();
  consoleLogger.warn("Run is large", { runId: "wrun_1", steps: 8000 });
  consoleLogger.info("Started");
  expect(lines).toEqual(['warn Run is large {"runId":"wrun_1","steps":8000}\n', "info Started\n"]);
});

test("G2: line breaks and terminal codes in a message or a field do not make a second line", () => {
  capture();
  consoleLogger.error("two\nlines \u001b[31m", { text: "a\nb" });
  expect(lines).toEqual(['error two\\u000alines \\u001b[31m {"text":"a\\nb"}\n']);
});

test("an error is written as its name, message and cause; BigInt, Map, symbol and function are readable", () => {
  capture();
  const error = new RangeError("too big", { cause: new Error("disk") });
  consoleLogger.error("x", { error, n: 10n, map: new Map([["a", 1]]), s: Symbol("q"), f: capture });
  expect(lines[0]).toBe(
    'error x {"error":{"name":"RangeError","message":"too big","cause":{"name":"Error","message":"disk"}},' +
      '"n":"10","map":[["a",1]],"s":"Symbol(q)","f":"[function capture]"}\n',
  );
});

test("G1: cycles, throwing getters, throwing toJSON and revoked proxies cost only their own field", () => {
  capture();
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const fields = {
    cycle,
    proxy,
    json: {
      toJSON() {
        throw new Error("no");
      },
    },
    fine: 1,
    get bad(): string {
      throw new Error("no");
    },
  };
  consoleLogger.debug("odd", fields);
  expect(lines).toHaveLength(1);
  const written = JSON.parse(lines[0]!.slice("debug odd ".length)) as Record<string, unknown>;
  expect(written.fine).toBe(1);
  expect(written.bad).toBe("[unprintable]");
  expect(written.cycle).toContain("Circular");
  expect(Object.keys(written)).toEqual(["cycle", "proxy", "json", "fine", "bad"]);

  consoleLogger.debug("gone", proxy);
  expect(lines[1]).toBe('debug gone "[unprintable]"\n');
});

test("the silent logger writes nothing", () => {
  const spy = capture();
  silentLogger.error("x", { a: 1 });
  expect(spy).not.toHaveBeenCalled();
});
