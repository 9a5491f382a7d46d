import type { StatementSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { Connection } from "../../src/store-sqlite/connection.ts";
import { openLogFile } from "../../src/store-sqlite/log-file.ts";
import { NameBook } from "../../src/store-sqlite/name-book.ts";
import { Reader } from "../../src/store-sqlite/reader.ts";
import { type EncodedEvent, encodeEvent } from "../../src/store-sqlite/rows.ts";
import { Writer } from "../../src/store-sqlite/writer.ts";
import { collect, event, testFolder } from "./kit.ts";

const { path } = testFolder();

/** What the SQLite client throws, by SQLite's extended error numbers. */
const diskError = (errcode: number): Error => Object.assign(new Error("disk I/O error"), { errcode });
const IOERR_WRITE = 778;
const IOERR_FSYNC = 1034;
const FULL = 13;

/** A connection whose next commits fail. */
class FailingConnection extends Connection {
  readonly failures: Error[] = [];

  override sql(text: string): StatementSync {
    const failure = text === "COMMIT" ? this.failures.shift() : undefined;
    if (failure === undefined) return super.sql(text);
    return {
      run: () => {
        throw failure;
      },
    } as unknown as StatementSync;
  }
}

const scene = () => {
  const file = path();
  const connection = new FailingConnection(file, () => openLogFile(file, "full", 1_000));
  const names = new NameBook(connection);
  const rolledBack: string[] = [];
  const rider = {
    wantsTransaction: () => false,
    ride: () => undefined,
    committed: () => undefined,
    rolledBack: ({ _tag }: { _tag: string }) => void rolledBack.push(_tag),
  };
  const writer = new Writer(connection, names, rider, {
    clock: () => 0,
    busyTimeoutMs: 1_000,
    durability: "full",
  });
  const encoded = () => encodeEvent(event()) as EncodedEvent;
  return {
    file,
    connection,
    reader: new Reader(connection, names),
    rolledBack,
    put: (stream: string, expected: "none" | number) => writer.append(stream, expected, [encoded()]),
  };
};

describe("W3 W4 a commit that fails", () => {
  for (const [name, errcode] of [
    ["a failed write", IOERR_WRITE],
    ["a full disk", FULL],
  ] as const) {
    it(`by ${name} is Unavailable for every append in it, nothing of it is there, and the next one goes through`, async () => {
      const { file, connection, reader, rolledBack, put } = scene();
      expect(await put("a", "none")).toMatchObject({ right: { revision: 0 } });
      connection.failures.push(diskError(errcode));
      const answers = await Promise.all([put("a", 0), put("new", "none"), put("a", 7)]);
      for (const answer of answers) {
        expect(answer).toMatchObject({
          left: { _tag: "Unavailable", reason: expect.stringContaining(file) },
        });
      }
      expect(rolledBack).toEqual(["Unavailable"]);
      expect(await collect(reader.readAll())).toHaveLength(1);
      expect(await put("new", "none")).toMatchObject({ right: { revision: 0, position: "2" } });
      expect(await put("a", 0)).toMatchObject({ right: { revision: 1, position: "3" } });
      connection.close();
    });
  }

  it("by an unconfirmed fsync has an unknown outcome, which reading settles", async () => {
    const { connection, reader, put } = scene();
    await put("a", "none");
    connection.failures.push(diskError(IOERR_FSYNC));
    expect(await put("a", 0)).toMatchObject({ left: { _tag: "UnknownOutcome" } });
    expect((await collect(reader.read("a"))).map((it) => it.revision)).toEqual([0]);
    expect(await put("a", 0)).toMatchObject({ right: { revision: 1 } });
    connection.close();
  });
});
