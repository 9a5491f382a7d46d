/** Says what a value is that no payload can carry, and what its author can do. */
import { types } from "node:util";

const article = (name: string): string => (/^[AEIOU]/.test(name) ? `an ${name}` : `a ${name}`);

const classOf = (value: object): string | undefined => {
  const prototype: unknown = Object.getPrototypeOf(value);
  const maker =
    prototype === null
      ? undefined
      : Object.getOwnPropertyDescriptor(prototype as object, "constructor")?.value;
  return typeof maker === "function" && maker.name !== "" ? maker.name : undefined;
};

/** "what cannot be stored. What to do." */
export const describeForeign = (value: unknown): string => {
  if (typeof value === "function")
    return "a function cannot be stored. Leave it out, or store what it returns.";
  if (typeof value !== "object" || value === null)
    return `a ${typeof value} cannot be stored. Use text instead.`;
  const name = classOf(value);
  if (types.isPromise(value)) return "a Promise cannot be stored. Await it first.";
  if (types.isAnyArrayBuffer(value))
    return `${article(name ?? "buffer")} cannot be stored. Wrap it: new Uint8Array(buffer).`;
  if (ArrayBuffer.isView(value)) {
    return `${article(name ?? "view")} cannot be stored. Store its bytes: new Uint8Array(x.buffer, x.byteOffset, x.byteLength).`;
  }
  if (value instanceof Error) {
    return `an instance of ${name ?? "an Error class"} cannot be stored: only JavaScript's own Error classes can. Store { name, message }, or new Error(message).`;
  }
  if (types.isWeakMap(value) || types.isWeakSet(value))
    return `a ${name} cannot be stored. Use a Map or a Set.`;
  return `an instance of ${name ?? "an unnamed class"} cannot be stored. Store a plain object with the fields you need.`;
};
