/**
 * What `start` records: the input and the attributes of a run, checked before anything is written. What a body could never be given, or
 * no reader could read back, is refused at the call and not found out by a worker later.
 */
import type { RunAttributes } from "../engine/journal/records.ts";
import { isPlainRecord } from "../engine/plain-record.ts";
import { checkSchema } from "../engine/schema.ts";
import type { AnyWorkflowDef } from "../engine/workflow.ts";
import type { JsonObject } from "../events/json.ts";
import { encodePayload } from "../events/payload.ts";
import { RequestError } from "./request-error.ts";

/** The input as the workflow's schema has it. Throws {@link RequestError} (`InvalidInput`). */
export const acceptedInput = async (
  name: string,
  def: AnyWorkflowDef,
  input: unknown,
): Promise<Record<string, unknown>> => {
  const refused = (why: string): RequestError =>
    new RequestError("InvalidInput", `Workflow ${JSON.stringify(name)} does not accept this input: ${why}`);
  const checked =
    def.input === undefined ? ({ ok: true, value: input } as const) : await checkSchema(def.input, input);
  if (!checked.ok) throw refused(checked.message);
  const { value } = checked;
  if (isPlainRecord(value)) return value;
  const what = def.input === undefined ? "it" : "what its input schema makes of it";
  throw refused(`${what} is ${describe(value)}. Start it with an object.`);
};

/** The attributes of a run, without what they are not. Throws {@link RequestError} (`InvalidInput`) and `PayloadError`. */
export const acceptedAttributes = ({ key, tenant, metadata }: RunAttributes): RunAttributes => ({
  ...(key !== undefined && { key: text("key", key) }),
  ...(tenant !== undefined && { tenant: text("tenant", tenant) }),
  ...(metadata !== undefined && { metadata: plainJson("metadata", metadata) }),
});

/** `value` if it is a string; run ids, tokens and keys may be any. Throws {@link RequestError} (`InvalidInput`). */
export const text = (what: string, value: unknown): string => {
  if (typeof value === "string") return value;
  throw new RequestError("InvalidInput", `${what} must be a string, and is ${describe(value)}.`);
};

const plainJson = (what: string, value: unknown): JsonObject => {
  const payload = isPlainRecord(value) ? encodePayload(value, what) : undefined;
  if (payload !== undefined && payload.types === undefined) return payload.json as JsonObject;
  throw new RequestError(
    "InvalidInput",
    `${what} must be an object of plain JSON values: no dates, bigints, undefined, NaN or the like.`,
  );
};

const describe = (value: unknown): string => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return `an instance of ${value.constructor?.name ?? "an unnamed class"}`;
  return value === undefined ? "undefined" : `a value of type ${typeof value}`;
};
