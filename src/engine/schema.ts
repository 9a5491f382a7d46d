/**
 * Checking a value against a Standard Schema (https://standardschema.dev), whoever made it. Converting schemas is not done here.
 *
 * Invariants:
 * - V1 A schema that throws, rejects or answers nonsense is a failed check, never an exception.
 * - V2 We print paths and the schema's own words, never a value: it may be a secret.
 * - V3 A schema that answers at once costs no promise.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { messageOf } from "./step-errors.ts";

/** The value as the schema made it, or why it does not fit. */
export type Checked<T = unknown> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string };

const MOST_ISSUES = 8;

/** Answers at once where the schema does, else by a promise that never rejects. */
export const checkSchema = <S extends StandardSchemaV1>(
  schema: S,
  value: unknown,
): Checked<StandardSchemaV1.InferOutput<S>> | Promise<Checked<StandardSchemaV1.InferOutput<S>>> => {
  type Output = StandardSchemaV1.InferOutput<S>;
  try {
    const result = schema["~standard"].validate(value);
    if (typeof (result as { then?: unknown }).then === "function") {
      return Promise.resolve(result).then((settled) => verdict<Output>(settled), failed);
    }
    return verdict<Output>(result as StandardSchemaV1.Result<unknown>);
  } catch (error) {
    return failed(error);
  }
};

const failed = (error: unknown): Checked<never> => ({
  ok: false,
  message: `the schema itself threw: ${messageOf(error)}`,
});

const verdict = <T>(result: StandardSchemaV1.Result<unknown>): Checked<T> => {
  try {
    const { issues } = result;
    return issues ? { ok: false, message: describeIssues(issues) } : { ok: true, value: result.value as T };
  } catch (error) {
    return failed(error);
  }
};

const describeIssues = (issues: readonly StandardSchemaV1.Issue[]): string => {
  if (issues.length === 0) return "the schema gave no reason";
  const shown = issues.slice(0, MOST_ISSUES).map(describeIssue);
  const more = issues.length - shown.length;
  return shown.join("; ") + (more > 0 ? `; and ${more} more` : "");
};

const describeIssue = ({ message, path }: StandardSchemaV1.Issue): string =>
  path === undefined || path.length === 0 ? message : `at ${describePath(path)}: ${message}`;

const describePath = (path: NonNullable<StandardSchemaV1.Issue["path"]>): string =>
  path
    .map((part) => (typeof part === "object" ? part.key : part))
    .map((key, i) => {
      if (typeof key === "number") return `[${key}]`;
      if (typeof key === "symbol") return `[${String(key)}]`;
      if (/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key)) return i === 0 ? key : `.${key}`;
      return /^\d+$/.test(key) ? `[${key}]` : `[${JSON.stringify(key)}]`;
    })
    .join("");
