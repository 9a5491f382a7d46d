import type { StandardSchemaV1 } from "@standard-schema/spec";
import { expect, test } from "vitest";
import { z } from "zod";
import { checkSchema } from "./schema.ts";

const schemaOf = (validate: (value: unknown) => unknown): StandardSchemaV1 =>
  ({ "~standard": { version: 1, vendor: "test", validate } }) as StandardSchemaV1;

const failsWith = (message: string): StandardSchemaV1 => schemaOf(() => ({ issues: [{ message }] }));

test("V3: a schema that answers at once is answered at once, with the schema's output", () => {
  expect(checkSchema(z.object({ n: z.coerce.number() }), { n: "4" })).toEqual({ ok: true, value: { n: 4 } });
  expect(checkSchema(failsWith("no"), 1)).toEqual({ ok: false, message: "no" });
});

test("an asynchronous schema is awaited, and its rejection is a failed check", async () => {
  const late = z.string().refine(async (s) => s.length > 1, "too short");
  expect(
    await checkSchema(
      schemaOf((v) => late["~standard"].validate(v)),
      "ab",
    ),
  ).toEqual({ ok: true, value: "ab" });
  expect(await checkSchema(late, "a")).toEqual({ ok: false, message: "too short" });
  const broken = schemaOf(() => Promise.reject(new Error("down")));
  expect(await checkSchema(broken, "a")).toEqual({ ok: false, message: "the schema itself threw: down" });
});

test("issues are read as one line with their paths", () => {
  const path = ["items", 3, { key: "when" }, "a b", "7", Symbol("s")];
  const schema = schemaOf(() => ({ issues: [{ message: "not a date", path }, { message: "too large" }] }));
  expect(checkSchema(schema, {})).toEqual({
    ok: false,
    message: 'at items[3].when["a b"][7][Symbol(s)]: not a date; too large',
  });
});

test("many issues are cut short and counted, and no issue at all is still a failure", () => {
  const many = schemaOf(() => ({ issues: Array.from({ length: 20 }, (_, i) => ({ message: `m${i}` })) }));
  expect(checkSchema(many, 1)).toEqual({ ok: false, message: "m0; m1; m2; m3; m4; m5; m6; m7; and 12 more" });
  expect(
    checkSchema(
      schemaOf(() => ({ issues: [] })),
      1,
    ),
  ).toEqual({ ok: false, message: "the schema gave no reason" });
});

test("V1: a schema that throws, answers nothing or is no schema is a failed check", () => {
  const answers = [
    schemaOf(() => {
      throw new Error("boom");
    }),
    schemaOf(() => undefined),
    {} as StandardSchemaV1,
  ].map((schema) => checkSchema(schema, 1));
  for (const answer of answers) {
    expect(answer).toMatchObject({ ok: false, message: expect.stringContaining("the schema itself threw") });
  }
  expect(answers[0]).toEqual({ ok: false, message: "the schema itself threw: boom" });
});

test("V2: the value is not in the message", () => {
  const answer = checkSchema(z.object({ password: z.number() }), { password: "hunter2" });
  expect(answer).toMatchObject({ ok: false, message: expect.stringContaining("at password: ") });
  expect(JSON.stringify(answer)).not.toContain("hunter2");
});

test("a schema whose output is undefined passes with undefined", () => {
  expect(
    checkSchema(
      schemaOf(() => ({ value: undefined })),
      1,
    ),
  ).toEqual({ ok: true, value: undefined });
});
