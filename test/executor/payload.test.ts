/** The form of payloads, byte for byte where others read them, and at the edges: keys, errors, refusals. Compression: its own file. */
import { describe, expect, it } from "vitest";
import {
  dehydrate,
  executeStep,
  FatalError,
  hydrate,
  importEncryptionKey,
  RetryableError,
  RuntimeDecryptionError,
  registerStep,
} from "../../src/executor/index.ts";
import { counted, inputOf, paramsFor, STEP_ID, watchRejections, worldWithStep } from "./scene.ts";
import { ScriptedWorld } from "./scripted-world.ts";

watchRejections();

const prefixOf = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(0, 4)).toString();
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

/** A text whose payload has this many bytes: the prefix, a bracket and a quote on both sides. */
const textOfPayload = (bytes: number): string => "x".repeat(bytes - 8);

const withStack = <E extends Error>(error: E): E => Object.assign(error, { stack: "STACK" });

describe("the form", () => {
  it.each([
    ["undefined", undefined, "devl-1"],
    ["numbers", [Number.NaN, -0, Infinity], "devl[[-3,-6,-4]]"],
    ["a bigint", 1n, 'devl[["BigInt",1],"1"]'],
    ["a date", new Date(5), 'devl[["Date",1],"1970-01-01T00:00:00.005Z"]'],
    ["no date", new Date(Number.NaN), 'devl[["Date",1],"."]'],
    ["a map", new Map([[1, 2]]), 'devl[["Map",1],[2],[3,4],1,2]'],
    ["a set", new Set([1]), 'devl[["Set",1],[2],1]'],
    ["a regular expression", /a/g, 'devl[["RegExp",1],{"source":2,"flags":3},"a","g"]'],
    ["bytes", new Uint8Array([1, 2, 3]), 'devl[["Uint8Array",1],"AQID"]'],
    ["a part of a buffer", new Uint8Array([9, 1, 2, 3, 9]).subarray(1, 4), 'devl[["Uint8Array",1],"AQID"]'],
    ["no bytes", new Uint8Array(0), 'devl[["Uint8Array",1],"."]'],
    ["a buffer", new Uint8Array([1]).buffer, 'devl[["ArrayBuffer",1],"AQ=="]'],
    ["a URL", new URL("http://a/b"), 'devl[["URL",1],"http://a/b"]'],
    ["no search parameters", new URLSearchParams(), 'devl[["URLSearchParams",1],"."]'],
    ["headers", new Headers({ A: "b" }), 'devl[["Headers",1],[2],[3,4],"a","b"]'],
    ["half a pair", "\ud800", 'devl["\\ud800"]'],
    [
      "an error",
      withStack(new Error("m", { cause: "c" })),
      'devl[["Error",1],{"name":2,"message":3,"stack":4,"cause":5},"Error","m","STACK","c"]',
    ],
    [
      "a type error",
      withStack(new TypeError("m")),
      'devl[["TypeError",1],{"message":2,"stack":3},"m","STACK"]',
    ],
    [
      "a fatal error",
      withStack(new FatalError("m")),
      'devl[["FatalError",1],{"message":2,"stack":3},"m","STACK"]',
    ],
    [
      "a retryable error",
      withStack(new RetryableError("m", { retryAfter: new Date(1000) })),
      'devl[["RetryableError",1],{"message":2,"stack":3,"retryAfter":4},"m","STACK",1000]',
    ],
  ])("of %s is the published one", async (_, value, form) => {
    const bytes = await dehydrate(value);
    expect(textOf(bytes)).toBe(form);
    expect(await hydrate(bytes)).toEqual(value);
  });
});

describe("errors", () => {
  it.each([
    new Error("m"),
    new TypeError("m"),
    new RangeError("m"),
    new SyntaxError("m"),
    new ReferenceError("m"),
    new URIError("m"),
    new EvalError("m"),
    new AggregateError([new Error("x")], "m"),
    new FatalError("m", { cause: new Error("c") }),
    new RetryableError("m", { retryAfter: new Date(5), cause: "c" }),
    new RuntimeDecryptionError("m", { context: { operation: "decrypt", byteLength: 3 } }),
    new DOMException("m", "AbortError"),
  ])("of the class of %s are that class again, with their stack", async (error) => {
    const back = (await hydrate(await dehydrate(error))) as Error;
    expect(back).toEqual(error);
    expect(back.constructor).toBe(error.constructor);
    expect(back.stack).toBe(error.stack);
    expect(back.cause).toEqual(error.cause);
  });

  it("of an author's class keep its name and plain properties, and lose the others", async () => {
    class NoStock extends Error {
      override readonly name = "NoStock";
      readonly sku = "A-1";
      readonly left = 0n;
      readonly socket = { open: () => true };
    }
    const back = (await hydrate(await dehydrate(new NoStock("none")))) as NoStock;
    expect([back.name, back.message, back.sku, back.left]).toEqual(["NoStock", "none", "A-1", 0n]);
    expect(back).not.toHaveProperty("socket");
    expect(back).toBeInstanceOf(Error);
  });

  it("with a retry at no instant can be stored and read", async () => {
    const error = Object.assign(new Error("m"), { name: "RetryableError", retryAfter: new Date(Number.NaN) });
    const back = (await hydrate(await dehydrate(error))) as RetryableError;
    expect(Number.isNaN(back.retryAfter.getTime())).toBe(false);
  });

  it("of a conflict of hooks keep the token and the other run", async () => {
    const error = Object.assign(new Error("taken"), {
      name: "HookConflictError",
      token: "t",
      conflictingRunId: "wrun_2",
    });
    expect(await hydrate(await dehydrate(error))).toMatchObject({
      name: "HookConflictError",
      token: "t",
      conflictingRunId: "wrun_2",
    });
  });
});

describe("classes and functions", () => {
  const classes = (): Map<string, unknown> => {
    const holder = globalThis as unknown as Record<symbol, Map<string, unknown> | undefined>;
    const symbol = Symbol.for("workflow-class-registry");
    holder[symbol] ??= new Map();
    return holder[symbol];
  };
  class Money {
    static readonly classId = "class//money";
    readonly cents: number;
    constructor(cents: number) {
      this.cents = cents;
    }
    static [Symbol.for("workflow-serialize")](money: Money): unknown {
      return { cents: money.cents };
    }
    static [Symbol.for("workflow-deserialize")](data: { cents: number }): Money {
      return new Money(data.cents);
    }
  }

  it("with a serialised form come back as instances", async () => {
    classes().set(Money.classId, Money);
    const bytes = await dehydrate({ price: new Money(5) });
    expect(textOf(bytes)).toBe(
      'devl[{"price":1},["Instance",2],{"classId":3,"data":4},"class//money",{"cents":5},5]',
    );
    const { price } = (await hydrate(bytes)) as { price: Money };
    expect(price).toBeInstanceOf(Money);
    expect(price.cents).toBe(5);
    expect(await hydrate(await dehydrate(Money))).toBe(Money);
  });

  it("that nobody registered where they are read are an error that names them", async () => {
    const bytes = await dehydrate(new Money(5));
    classes().delete(Money.classId);
    await expect(hydrate(bytes)).rejects.toThrow(/class\/\/money/);
  });

  it("that are steps are references to them, with what was bound to them", async () => {
    const add = registerStep("add", async (a: number, b: number) => a + b);
    expect(await hydrate(await dehydrate(add))).toBe(add);
    const bound = Buffer.from(
      'devl[["StepFunction",1],{"stepId":2,"boundThis":3,"boundArgs":4},"add",null,[5],40]',
    );
    const fn = (await hydrate(bound)) as (b: number) => Promise<number>;
    expect(await fn(2)).toBe(42);
    await expect(hydrate(Buffer.from('devl[["StepFunction",1],{"stepId":2},"gone"]'))).rejects.toThrow(
      /"gone"/,
    );
  });

  it("that are workflows are references that cannot be called", async () => {
    const flow = (await hydrate(
      Buffer.from('devl[["WorkflowFunction",1],{"workflowId":2},"w"]'),
    )) as () => void;
    expect(flow).toThrow(/workflow w cannot be called/);
    expect(textOf(await dehydrate(flow))).toBe('devl[["WorkflowFunction",1],{"workflowId":2},"w"]');
  });
});

describe("a value that cannot be stored", () => {
  class Plain {
    a = 1;
  }
  it.each([
    ["a function", { items: [{ when: () => 1 }] }, "at items[0].when"],
    ["a symbol", { s: Symbol("s") }, "at s"],
    ["a promise", [Promise.resolve(1)], "at [0]"],
    ["an instance", { a: { b: new Plain() } }, "at a.b"],
    ["a weak map", new WeakMap(), "cannot be stored:"],
    ["a key that would change the prototype", [JSON.parse('{"__proto__":1}')], "at [0]"],
    ["a stream outside a step", { s: new ReadableStream() }, "at s"],
  ])("is refused with its place: %s", async (_, value, place) => {
    const refusal = expect(dehydrate(value, { what: "The thing" })).rejects;
    await refusal.toMatchObject({ name: "SerializationError", fatal: true });
    await expect(dehydrate(value, { what: "The thing" })).rejects.toThrow(place);
  });
});

describe("encryption", () => {
  const raw = new Uint8Array(32).fill(9);

  it("puts a nonce of 12 bytes in front and a tag of 16 behind, and is different every time", async () => {
    const key = await importEncryptionKey(raw);
    const [one, two] = [await dehydrate({ a: 1 }, { key }), await dehydrate({ a: 1 }, { key })];
    const plain = await dehydrate({ a: 1 });
    expect(prefixOf(one)).toBe("encr");
    expect(one.byteLength).toBe(4 + 12 + plain.byteLength + 16);
    expect(Buffer.compare(one, two)).not.toBe(0);
    expect(await hydrate(one, { key })).toEqual({ a: 1 });
  });

  it("comes after compression", async () => {
    const key = await importEncryptionKey(raw);
    const text = textOfPayload(5000);
    const bytes = await dehydrate(text, { key, compression: true });
    expect(prefixOf(bytes)).toBe("encr");
    expect(bytes.byteLength).toBeLessThan(200);
  });

  it("cannot be undone without the key, with another, or from a part", async () => {
    const key = await importEncryptionKey(raw);
    const other = await importEncryptionKey(new Uint8Array(32));
    const bytes = await dehydrate("secret", { key });
    for (const [payload, options, message] of [
      [bytes, {}, /there is no key/],
      [bytes, { key: other }, /another key/],
      [bytes.subarray(0, 20), { key }, /cut off/],
    ] as const) {
      const reading = hydrate(payload, options);
      await expect(reading).rejects.toThrow(message);
      await expect(hydrate(payload, options)).rejects.toMatchObject({
        name: "RuntimeDecryptionError",
        context: { operation: "decrypt", formatPrefix: "encr" },
      });
    }
  });

  it.each([[0], [16], [31], [33]])("refuses a key of %i bytes", async (length) => {
    await expect(importEncryptionKey(new Uint8Array(length))).rejects.toThrow(RangeError);
  });

  it("of results and errors uses the key of the run, which the World is asked for once", async () => {
    const key = await importEncryptionKey(raw);
    const world = new ScriptedWorld().given({
      stepId: STEP_ID,
      input: await dehydrate({ args: ["in"] }, { key }),
    });
    world.encryptionKey = raw;
    counted((text: string) => `${text} and out`);
    await executeStep(paramsFor(world, { workflowDeploymentId: "dpl_1" }));
    const { result } = world.asked("step_completed")[0]!.request.eventData as { result: Uint8Array };
    expect(prefixOf(result)).toBe("encr");
    expect(await hydrate(result, { key })).toBe("in and out");
    expect(world.keyRequests).toEqual([["wrun_1", { deploymentId: "dpl_1" }]]);

    const failing = new ScriptedWorld().given({ stepId: STEP_ID, input: await inputOf() });
    failing.encryptionKey = raw;
    counted(() => {
      throw new Error("secret");
    });
    await executeStep(paramsFor(failing));
    const { error } = failing.asked("step_retrying")[0]!.request.eventData as { error: Uint8Array };
    expect(prefixOf(error)).toBe("encr");
    expect(await hydrate(error, { key })).toMatchObject({ message: "secret" });
    expect(failing.keyRequests.length).toBe(1);
  });

  it("with a key among the parameters does not ask the World", async () => {
    const key = await importEncryptionKey(raw);
    const world = await worldWithStep();
    counted(() => 1);
    await executeStep(paramsFor(world, { encryptionKey: key }));
    expect(world.keyRequests).toEqual([]);
    const { result } = world.asked("step_completed")[0]!.request.eventData as { result: Uint8Array };
    expect(await hydrate(result, { key })).toBe(1);
  });

  it("of an input that cannot be decrypted is an ordinary failure, and the body never runs", async () => {
    const key = await importEncryptionKey(raw);
    const world = new ScriptedWorld().given({
      stepId: STEP_ID,
      input: await dehydrate({ args: [] }, { key }),
    });
    const { calls } = counted(() => 1);
    expect(await executeStep(paramsFor(world))).toEqual({ type: "retry", timeoutSeconds: 1 });
    expect(calls()).toBe(0);
    const { error } = world.asked("step_retrying")[0]!.request.eventData as { error: Uint8Array };
    expect(await hydrate(error)).toMatchObject({ name: "RuntimeDecryptionError" });
  });

  it.each([
    ["awaited", {}],
    ["optimistic", { forceOptimisticStart: true }],
  ])(
    "with a key that is no key rejects after an %s start: not even the error could be stored",
    async (_, how) => {
      const world = new ScriptedWorld();
      world.encryptionKey = new Uint8Array(5);
      const { calls } = counted(() => 1);
      await expect(executeStep(paramsFor(world, { lazyStepInput: await inputOf(), ...how }))).rejects.toThrow(
        /32 bytes and this one 5/,
      );
      expect(world.types).toEqual(["step_started"]);
      expect(calls()).toBe(0);
      expect(world.keyRequests.length).toBe(1);
    },
  );
});
