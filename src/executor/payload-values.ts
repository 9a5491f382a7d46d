/**
 * The values beyond JSON that a payload carries, by the tags of the Workflow SDK's format: one row a type, with how it is written and
 * how it is read. Errors have a table of their own (payload-errors.ts), and so have streams (payload-streams.ts).
 *
 * Binary data is base64; devalue writes what a row turns into and takes an empty text for "not mine", hence the dot.
 */
import { types } from "node:util";
import { inStepContext, stepContext } from "./step-context.ts";
import { registeredClass, registeredStep, type StepFunction } from "./step-registry.ts";

/** How one type is written and read. `write` answers `undefined` for a value that is not of the type. */
export interface PayloadType {
  readonly write: (value: unknown) => unknown;
  readonly read: (written: never) => unknown;
}

const EMPTY = ".";
const filled = (text: string): string => (text === "" ? EMPTY : text);
const emptied = (text: string): string => (text === EMPTY ? "" : text);

const bytesOf = (text: string): ArrayBuffer => {
  const bytes = Buffer.from(emptied(text), "base64");
  return new Uint8Array(bytes).buffer;
};

const TYPED_ARRAYS = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
] as const;

const typedArrays: Record<string, PayloadType> = Object.fromEntries(
  TYPED_ARRAYS.map((type) => [
    type.name,
    {
      write: (value) =>
        types.isTypedArray(value) && value[Symbol.toStringTag] === type.name
          ? filled(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64"))
          : undefined,
      read: (text: string) => new type(bytesOf(text)),
    } satisfies PayloadType,
  ]),
);

const SERIALIZE = Symbol.for("workflow-serialize");
const DESERIALIZE = Symbol.for("workflow-deserialize");

interface SerialisableClass {
  readonly classId?: string;
  readonly [SERIALIZE]?: (instance: unknown) => unknown;
  readonly [DESERIALIZE]?: (data: unknown) => unknown;
}

const classOf = (classId: string): SerialisableClass => {
  const found = registeredClass(classId);
  if (found === undefined) {
    throw new Error(
      `No class is registered as ${JSON.stringify(classId)}: register it where steps are registered`,
    );
  }
  return found as SerialisableClass;
};

const writtenInstance = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return undefined;
  const type = (value as { constructor?: SerialisableClass }).constructor;
  if (typeof type !== "function") return undefined;
  const { classId, [SERIALIZE]: serialize } = type as SerialisableClass;
  if (classId === undefined || serialize === undefined) return undefined;
  return { classId, data: serialize.call(type, value) };
};

const readInstance = ({ classId, data }: { classId: string; data: unknown }): unknown => {
  const type = classOf(classId);
  const deserialize = type[DESERIALIZE];
  if (deserialize === undefined) {
    throw new Error(
      `The class ${JSON.stringify(classId)} has no way to be read back: give it Symbol.for("workflow-deserialize")`,
    );
  }
  return deserialize.call(type, data);
};

interface WrittenStep {
  readonly stepId: string;
  readonly closureVars?: Record<string, unknown>;
  readonly boundThis?: unknown;
  readonly boundArgs?: readonly unknown[];
}

const readStep = (written: WrittenStep): unknown => {
  const fn: StepFunction | undefined = registeredStep(written.stepId);
  if (fn === undefined)
    throw new Error(
      `No step is registered as ${JSON.stringify(written.stepId)}: look at its name, and at what the deployment contains`,
    );
  const bound =
    "boundThis" in written || "boundArgs" in written
      ? (fn as (...args: unknown[]) => unknown).bind(written.boundThis, ...(written.boundArgs ?? []))
      : fn;
  const { closureVars } = written;
  if (closureVars === undefined) return bound;
  return (...args: never[]) => {
    const context = stepContext();
    return context === undefined
      ? bound(...args)
      : inStepContext({ ...context, closureVars }, () => bound(...args));
  };
};

const readWorkflow = ({ workflowId }: { workflowId: string }): unknown => {
  const stub = (): never => {
    throw new Error(`The workflow ${workflowId} cannot be called from a step: start it as a run`);
  };
  return Object.assign(stub, { workflowId });
};

const ownText = (value: unknown, key: "classId" | "stepId" | "workflowId"): string | undefined => {
  if (typeof value !== "function" || !Object.hasOwn(value, key)) return undefined;
  const text = (value as unknown as Record<string, unknown>)[key];
  return typeof text === "string" ? text : undefined;
};

const writtenReference = (value: unknown, key: "classId" | "stepId" | "workflowId"): unknown => {
  const text = ownText(value, key);
  return text === undefined ? undefined : { [key]: text };
};

/** Every type of this table; a class with a serialised form of its own goes before all others. */
export const PAYLOAD_VALUES: Readonly<Record<string, PayloadType>> = {
  Instance: { write: writtenInstance, read: readInstance },
  Class: {
    write: (value) => writtenReference(value, "classId"),
    read: ({ classId }: { classId: string }) => classOf(classId),
  },
  StepFunction: { write: (value) => writtenReference(value, "stepId"), read: readStep },
  WorkflowFunction: { write: (value) => writtenReference(value, "workflowId"), read: readWorkflow },
  BigInt: {
    write: (value) => (typeof value === "bigint" ? String(value) : undefined),
    read: (text: string) => BigInt(text),
  },
  Date: {
    write: (value) =>
      types.isDate(value) ? filled(Number.isNaN(value.getTime()) ? "" : value.toISOString()) : undefined,
    read: (text: string) => new Date(emptied(text)),
  },
  RegExp: {
    write: (value) => (types.isRegExp(value) ? { source: value.source, flags: value.flags } : undefined),
    read: ({ source, flags }: { source: string; flags: string }) => new RegExp(source, flags),
  },
  Map: {
    write: (value) => (types.isMap(value) ? [...value] : undefined),
    read: (entries: [unknown, unknown][]) => new Map(entries),
  },
  Set: {
    write: (value) => (types.isSet(value) ? [...value] : undefined),
    read: (members: unknown[]) => new Set(members),
  },
  URL: {
    write: (value) => (value instanceof URL ? value.href : undefined),
    read: (text: string) => new URL(text),
  },
  URLSearchParams: {
    write: (value) => (value instanceof URLSearchParams ? filled(String(value)) : undefined),
    read: (text: string) => new URLSearchParams(emptied(text)),
  },
  Headers: {
    write: (value) => (value instanceof Headers ? [...value] : undefined),
    read: (pairs: [string, string][]) => new Headers(pairs),
  },
  ArrayBuffer: {
    write: (value) =>
      types.isArrayBuffer(value) ? filled(Buffer.from(value).toString("base64")) : undefined,
    read: bytesOf,
  },
  ...typedArrays,
};
