import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newEventId } from "./event-id.ts";

describe("an event's id", () => {
  test("is a UUID of version 8 in lower case", () => {
    expect(newEventId()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test("is given out once", () => {
    const ids = new Set(Array.from({ length: 10_000 }, newEventId));
    expect(ids.size).toBe(10_000);
  });

  test("is another one in every process", () => {
    const module = JSON.stringify(join(import.meta.dirname, "event-id.ts"));
    const script = `import(${module}).then(({ newEventId }) => process.stdout.write(newEventId()))`;
    const ids = [1, 2, 3].map(() =>
      execFileSync(process.execPath, ["--disable-warning=ExperimentalWarning", "-e", script], {
        encoding: "utf8",
      }),
    );
    expect(new Set([...ids, newEventId()].map((id) => id.slice(0, 23))).size).toBe(4);
  });
});
