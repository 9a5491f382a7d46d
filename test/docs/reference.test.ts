/** What the reference names is there, and what is there is named: exports, events, errors, numbers, tables of the store. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { MAX_IN_PROCESS_RETRY_MS } from "../../src/engine/backoff.ts";
import { BOOT_SWEEP_LIMIT } from "../../src/engine/boot-sweep.ts";
import { FIRST_RETRY_MS, LONGEST_RETRY_MS } from "../../src/engine/pipeline.ts";
import { JOURNAL_MAX_ENTRIES, JOURNAL_WARN_ENTRIES } from "../../src/engine/refusals.ts";
import { DEFAULT_RETRY_DELAY_MS } from "../../src/engine/step-errors.ts";
import { DEFAULT_STEP_CONCURRENCY, DEFAULT_WORKER_STEP_CONCURRENCY } from "../../src/engine/step-gate.ts";
import { ATTEMPT_LEASE_MS, DEFAULT_MAX_ATTEMPTS } from "../../src/engine/walk/attempt.ts";
import { RUN_EVENTS, THREAD_EVENTS } from "../../src/events/catalogue.ts";
import { MAX_PAYLOAD_DEPTH } from "../../src/events/payload.ts";
import { BEAT_MS } from "../../src/store-sqlite/owners.ts";
import { EVENT_LIMIT_BYTES } from "../../src/store-sqlite/rows.ts";
import { SCHEMA } from "../../src/store-sqlite/schema.ts";
import { DEFAULT_MAX_DELIVERIES } from "../../src/testing/run-workflow.ts";
import { allBlocks, blocksOf, ROOT, read } from "./documents.ts";

const source = (file: string): string => readFileSync(join(ROOT, "src", file), "utf8");

/** The names that an entry point exports, types included. */
const exportsOf = (file: string): string[] => {
  const text = source(file).replaceAll(/\/\*[\s\S]*?\*\//g, "");
  const listed = [...text.matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, names]) =>
    names!.split(","),
  );
  const declared = [...text.matchAll(/export const (\w+)/g)].map(([, name]) => name!);
  const names = listed.map((name) => name.trim().replace(/^type /, "")).filter((name) => name !== "");
  return [...names, ...declared];
};

const CONSTANTS: Readonly<Record<string, number>> = {
  JOURNAL_MAX_ENTRIES,
  JOURNAL_WARN_ENTRIES,
  ATTEMPT_LEASE_MS,
  DEFAULT_MAX_ATTEMPTS,
  DEFAULT_RETRY_DELAY_MS,
  MAX_IN_PROCESS_RETRY_MS,
  DEFAULT_STEP_CONCURRENCY,
  DEFAULT_WORKER_STEP_CONCURRENCY,
  FIRST_RETRY_MS,
  LONGEST_RETRY_MS,
  MAX_PAYLOAD_DEPTH,
  EVENT_LIMIT_BYTES,
  BEAT_MS,
  BOOT_SWEEP_LIMIT,
  DEFAULT_MAX_DELIVERIES,
};

describe("the reference", () => {
  it.each([
    "index.ts",
    "testing/index.ts",
    "store-sqlite/index.ts",
    "store-memory/index.ts",
    "store-eventstore/index.ts",
    "executor/index.ts",
    "integrations/workflow-sdk/index.ts",
    "threads/index.ts",
  ])("names every export of %s", (file) => {
    const named = new Set([...read("docs/reference/api.md").matchAll(/`(\w+)`/g)].map(([, name]) => name));
    const missing = exportsOf(file).filter((name) => !named.has(name));
    expect(missing).toEqual([]);
    expect(exportsOf(file).length).toBeGreaterThan(2);
  });

  it("names every event type, with every field that the frozen events have", () => {
    const rows = read("docs/reference/events.md").split("\n");
    const golden = ["events.json", "threads.json"].flatMap(
      (file) =>
        JSON.parse(readFileSync(join(ROOT, "test/golden/v1", file), "utf8")) as {
          readonly recorded: { readonly type: string; readonly data: Record<string, unknown> };
        }[],
    );
    const missing: string[] = [];
    for (const type of [...Object.keys(RUN_EVENTS), ...Object.keys(THREAD_EVENTS)]) {
      const row = rows.find((line) => line.startsWith(`| \`${type}\` |`));
      if (row === undefined) missing.push(type);
      const events = golden.map(({ recorded }) => recorded).filter((event) => event.type === type);
      expect(events.length, type).toBeGreaterThan(0);
      for (const { data } of events)
        for (const field of Object.keys(data))
          if (!row?.includes(`\`${field}`)) missing.push(`${type}.${field}`);
    }
    expect(missing).toEqual([]);
  });

  it("names every kind of refusal, rejection, request error and store error", () => {
    const union = (file: string, type: string): string[] => {
      const [, members] = new RegExp(`export type ${type} =([^;]*);`).exec(source(file))!;
      return [...members!.matchAll(/"([^"]+)"/g)].map(([, member]) => member!);
    };
    const tags = [...source("events/event-log.ts").matchAll(/_tag: "(\w+)"; readonly \w+: /g)].map(
      ([, tag]) => tag!,
    );
    const all = [
      ...union("engine/refusals.ts", "RefusalKind"),
      ...union("engine/rejection-error.ts", "RejectionReason"),
      ...union("embedded/request-error.ts", "RequestReason"),
      ...tags.filter((tag) => tag !== "CaughtUp"),
    ];
    expect(all.length).toBeGreaterThan(18);
    const text = read("docs/reference/errors.md");
    expect(all.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });

  it("states numbers that are the constants of the code", () => {
    const rows = [...read("docs/concepts.md").matchAll(/^\|[^|]+\| ([\d,]+)[^|]*\| `([A-Z_]+)` \|$/gm)];
    const stated = Object.fromEntries(
      rows.map(([, number, name]) => [name, Number(number!.replaceAll(",", ""))]),
    );
    expect(stated).toEqual(CONSTANTS);
  });

  it("shows the tables of the store as they are", () => {
    const shown = allBlocks().filter(({ language }) => language === "sql");
    expect(shown.length).toBeGreaterThan(0);
    for (const { text } of shown)
      for (const statement of text.split(";").map((part) => part.trim())) expect(SCHEMA).toContain(statement);
  });

  it("shows queries that the store understands", () => {
    const db = new DatabaseSync(":memory:");
    db.exec(SCHEMA);
    const pages = ["docs/how-to/read-and-audit.md", "docs/how-to/operate.md"];
    const queries = pages
      .flatMap(blocksOf)
      .filter(({ text }) => text.startsWith("sqlite3 -readonly"))
      .map(({ text }) => /"([^"]*)"/.exec(text)![1]!);
    expect(queries.length).toBe(3);
    for (const query of queries) expect(db.prepare(query).all()).toEqual([]);
    db.close();
  });

  it("explains log lines that the engine writes", () => {
    const code = readdirSync(join(ROOT, "src/engine"), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => source(join("engine", file)))
      .join("\n");
    const lines = [...read("docs/how-to/run-workers.md").matchAll(/`(Workflow [^`]+)`/g)].map(
      ([, line]) => line!,
    );
    expect(lines.length).toBeGreaterThan(6);
    expect(lines.filter((line) => !code.includes(`"${line.replace(" …", "")}`))).toEqual([]);
  });
});
