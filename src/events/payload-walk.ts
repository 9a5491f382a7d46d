/**
 * The validating copy: one walk over a value that takes a snapshot of it, or refuses it with the path of what cannot be stored.
 *
 * It does not choose the stored form; it only says whether the snapshot is plain JSON.
 * - W1 Containers are copied; leaves such as Dates and bytes are not, so the snapshot is to be split into JSON in the same turn. A
 *   reference that occurs twice becomes two copies.
 * - W2 Nothing is left out or altered: what would not come back is refused, be it a hidden property or a hole in an array.
 * - W3 No code of the value's author runs: accessors are refused, not called (but in long arrays, see `LONG_ARRAY`).
 */
import { isDeepStrictEqual, types } from "node:util";
import { formatPath, type PathPart, PayloadError } from "./payload-error.ts";
import { builtInErrorOf, type ErrorFields, ErrorSnapshot } from "./payload-error-values.ts";
import { describeForeign } from "./payload-refusals.ts";

/** How deeply containers may be nested in a payload. */
export const MAX_PAYLOAD_DEPTH = 1_000;

/**
 * A key that JSON writes with an escape. The JSON.parse of V8 13.6 (Node 24) mistakes it for another key, one with a backslash in it,
 * when it has seen an object of such a shape before; so such keys are never stored as keys, but as text in entries.
 */
export const ESCAPED_KEY = /["\\\p{Cc}\p{Surrogate}]/u;

const { getOwnPropertyDescriptor, getPrototypeOf, defineProperty, hasOwn, keys } = Object;
const { ownKeys } = Reflect;

/** Sets a property also where its name is `__proto__`, which an assignment would take for the prototype. */
export const setOwn = (target: object, key: string, value: unknown): void => {
  if (key === "__proto__") {
    defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    (target as Record<string, unknown>)[key] = value;
  }
};

/**
 * In arrays longer than this only what is cheap for many elements is looked for: the element of an accessor is read like any other,
 * and added properties that are not enumerable pass unseen. To make text of all indices would cost more than all the rest.
 */
const LONG_ARRAY = 64;

const hasNamedProperties = (array: readonly unknown[], elements: readonly unknown[]): boolean =>
  array.length <= LONG_ARRAY ? ownKeys(array).length > array.length + 1 : !isDeepStrictEqual(array, elements);

/** A URL by its inner state, not only by its prototype, which survives being written as text. */
const isStableUrl = (value: object): boolean => {
  try {
    return new URL((value as URL).href).href === (value as URL).href;
  } catch {
    return false;
  }
};

export class PayloadWalk {
  /** Has anything been met that JSON alone cannot carry? */
  rich = false;
  readonly #root: string;
  readonly #path: PathPart[] = [];
  readonly #above: object[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  copy(value: unknown, depth: number): unknown {
    switch (typeof value) {
      case "string":
      case "boolean":
        return value;
      case "number":
        if (!Number.isFinite(value) || Object.is(value, -0)) this.rich = true;
        return value;
      case "undefined":
      case "bigint":
        this.rich = true;
        return value;
      case "object":
        return value === null ? null : this.#object(value, depth);
      default:
        return this.#refuse(depth, describeForeign(value));
    }
  }

  #object(value: object, depth: number): unknown {
    if (depth >= MAX_PAYLOAD_DEPTH) this.#tooDeep(value, depth);
    this.#above[depth] = value;
    const prototype: unknown = getPrototypeOf(value);
    if (prototype === Object.prototype) return this.#record(value, {}, depth);
    if (Array.isArray(value)) return this.#array(value, prototype, depth);
    this.rich = true;
    if (prototype === null) return this.#record(value, Object.create(null) as object, depth);
    if (prototype === Uint8Array.prototype || prototype === Buffer.prototype) {
      return types.isUint8Array(value) ? value : this.#refuse(depth, describeForeign(value));
    }
    if (types.isNativeError(value) && builtInErrorOf(prototype) !== undefined)
      return this.#error(value, depth);
    if (!this.#isBuiltIn(value, prototype)) this.#refuse(depth, describeForeign(value));
    if (types.isRegExp(value)) {
      if (value.lastIndex !== 0) {
        this.#refuse(depth, "a RegExp with a lastIndex other than 0 cannot be stored. Set it to 0 first.");
      }
      if (ownKeys(value).length > 1) this.#refuseNamed(value, depth);
      return value;
    }
    if (ownKeys(value).length > 0) this.#refuseNamed(value, depth);
    if (types.isMap(value)) return this.#map(value, depth);
    if (types.isSet(value)) return this.#set(value, depth);
    return value;
  }

  #isBuiltIn(value: object, prototype: unknown): boolean {
    return (
      (prototype === Date.prototype && types.isDate(value)) ||
      (prototype === Map.prototype && types.isMap(value)) ||
      (prototype === Set.prototype && types.isSet(value)) ||
      (prototype === RegExp.prototype && types.isRegExp(value)) ||
      (prototype === URL.prototype && isStableUrl(value))
    );
  }

  #record(value: object, copy: object, depth: number): object {
    const names = ownKeys(value);
    for (let i = 0; i < names.length; i++) {
      const key = names[i] as string | symbol;
      if (typeof key === "symbol") return this.#refuse(depth, refusedKey(key));
      if (ESCAPED_KEY.test(key)) this.rich = true;
      this.#path[depth] = key;
      setOwn(copy, key, this.copy(this.#property(value, key, depth), depth + 1));
    }
    return copy;
  }

  /** The value of a property that is data and is enumerable. */
  #property(value: object, key: string | number, depth: number): unknown {
    const found = getOwnPropertyDescriptor(value, key);
    if (found === undefined) return undefined;
    if (found.get !== undefined || found.set !== undefined) {
      return this.#refuse(depth + 1, "an accessor property cannot be stored. Store the value it gives.");
    }
    if (found.enumerable !== true) {
      return this.#refuse(
        depth + 1,
        "a property that is not enumerable cannot be stored. Make it an ordinary one, or leave it out.",
      );
    }
    return found.value;
  }

  #array(value: readonly unknown[], prototype: unknown, depth: number): unknown[] {
    if (prototype !== Array.prototype) this.#refuse(depth, describeForeign(value));
    const copy: unknown[] = [];
    const elements: unknown[] = [];
    const long = value.length > LONG_ARRAY;
    for (let i = 0; i < value.length; i++) {
      this.#path[depth] = i;
      const element = long ? value[i] : this.#property(value, i, depth);
      if (element === undefined && !hasOwn(value, i)) {
        this.#refuse(
          depth + 1,
          "a hole in an array cannot be stored. Fill it, with undefined or null for example.",
        );
      }
      if (long) elements.push(element);
      copy.push(this.copy(element, depth + 1));
    }
    if (hasNamedProperties(value, elements)) this.#refuseNamed(value, depth);
    return copy;
  }

  #map(value: ReadonlyMap<unknown, unknown>, depth: number): Map<unknown, unknown> {
    const copy = new Map<unknown, unknown>();
    let index = 0;
    for (const [key, element] of value) {
      this.#path[depth] = { text: `.keys()[${index}]` };
      const keyCopy = this.copy(key, depth + 1);
      this.#path[depth] = {
        text: typeof key === "string" ? `.get(${JSON.stringify(key)})` : `.values()[${index}]`,
      };
      copy.set(keyCopy, this.copy(element, depth + 1));
      index++;
    }
    return copy;
  }

  #set(value: ReadonlySet<unknown>, depth: number): Set<unknown> {
    const copy = new Set<unknown>();
    let index = 0;
    for (const element of value) {
      this.#path[depth] = { text: `.values()[${index++}]` };
      copy.add(this.copy(element, depth + 1));
    }
    return copy;
  }

  /** Properties the runtime hides (the stack, marks of Node's own errors) are not part of an Error's value. */
  #error(value: Error, depth: number): ErrorSnapshot {
    const properties: Record<string, unknown> = {};
    const inherited = builtInErrorOf(getPrototypeOf(value)) as string;
    const fields: ErrorFields = { class: inherited, name: inherited, message: "" };
    for (const key of ownKeys(value)) {
      const own = getOwnPropertyDescriptor(value, key) as PropertyDescriptor;
      if (key === "stack") continue;
      if (typeof key === "symbol") {
        if (own.enumerable === true) this.#refuse(depth, refusedKey(key));
        continue;
      }
      this.#path[depth] = key;
      if (key === "name" || key === "message") {
        if (typeof own.value !== "string") {
          this.#refuse(depth + 1, "the name and the message of an Error must be text to be stored.");
        }
        fields[key] = own.value;
      } else if (key === "cause" || key === "errors") {
        if (own.get !== undefined) this.#property(value, key, depth);
        fields[key] = this.copy(own.value, depth + 1);
      } else if (own.enumerable === true) {
        setOwn(properties, key, this.copy(this.#property(value, key, depth), depth + 1));
      }
    }
    if (keys(properties).length > 0) fields.properties = properties;
    return ErrorSnapshot.of(fields);
  }

  #refuse(depth: number, problem: string): never {
    throw new PayloadError(formatPath(this.#root, this.#path.slice(0, depth)), problem);
  }

  #refuseNamed(value: object, depth: number): never {
    const expected = new Set(Array.isArray(value) ? ["length", ...value.keys()].map(String) : ["lastIndex"]);
    const key = ownKeys(value).find((name) => typeof name === "symbol" || !expected.has(name));
    if (typeof key === "symbol") return this.#refuse(depth, refusedKey(key));
    this.#path[depth] = key as string;
    return this.#refuse(
      depth + 1,
      "a property added to an array, Date, Map, Set, RegExp or URL cannot be stored. Use a plain object for it.",
    );
  }

  #tooDeep(value: object, depth: number): never {
    this.#above[depth] = value;
    const seen = new Map<object, number>();
    for (let i = 0; i <= depth; i++) {
      const first = seen.get(this.#above[i] as object);
      if (first !== undefined) {
        const target = formatPath(this.#root, this.#path.slice(0, first));
        this.#refuse(i, `a cycle back to ${target} cannot be stored. Refer to it by an id instead.`);
      }
      seen.set(this.#above[i] as object, i);
    }
    return this.#refuse(
      depth,
      `nested deeper than ${MAX_PAYLOAD_DEPTH} levels, which cannot be stored. Flatten it.`,
    );
  }
}

const refusedKey = (key: symbol): string =>
  `a property whose key is a symbol (${String(key)}) cannot be stored. Use a text key, or leave it out.`;
