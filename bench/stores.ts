/** Fresh logs in the folder that is measured. Whoever opens one closes it; files go when the benchmarks end. */
import { randomBytes } from "node:crypto";
import { existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { EventLog } from "../src/index.ts";
import { openEventStoreLog } from "../src/store-eventstore/index.ts";
import { createMemoryLog } from "../src/store-memory/index.ts";
import { openSqliteLog } from "../src/store-sqlite/index.ts";
import { startNodeProcess } from "../test/esdb-node/node-process.ts";
import type { Bench, StoreKind } from "./bench.ts";

export const freshFile = (bench: Bench, name: string): string =>
  join(bench.folder, `${name}-${randomBytes(4).toString("hex")}.db`);

export interface FreshStore {
  readonly log: EventLog;
  /** For `openRunstream`: the log, and where its index goes. */
  readonly options: { readonly store: EventLog; readonly index: string };
  readonly file: string | undefined;
  /** Closes the log and removes its files. */
  discard(): Promise<void>;
}

/** Any store. The stand-in node that `eventstore` needs is started for it, on a file, and ends with it. */
export const openStore = async (bench: Bench, kind: StoreKind, name: string): Promise<FreshStore> => {
  if (kind !== "eventstore") return freshStore(bench, kind, name);
  const file = freshFile(bench, name);
  const node = await startNodeProcess({ db: file });
  const log = await openEventStoreLog(node.connectionString);
  return {
    log,
    options: { store: log, index: `${file}-index` },
    file: undefined,
    async discard() {
      await log.close();
      await node.stop();
      removeFile(file);
    },
  };
};

/** A store that takes no waiting for. */
export const freshStore = (bench: Bench, kind: StoreKind, name: string): FreshStore => {
  if (kind === "eventstore") throw new Error(`${name} cannot be measured on ${kind}`);
  const file = kind === "sqlite" ? freshFile(bench, name) : undefined;
  const log = file === undefined ? createMemoryLog() : openSqliteLog(file);
  return {
    log,
    options: { store: log, index: file === undefined ? ":memory:" : `${file}-index` },
    file,
    async discard() {
      await log.close();
      if (file !== undefined) removeFile(file);
    },
  };
};

const BESIDE = ["", "-wal", "-shm", "-index", "-index-wal", "-index-shm"];

export const removeFile = (file: string): void => {
  for (const suffix of BESIDE) rmSync(file + suffix, { force: true });
};

/** Bytes of the log's file once its write-ahead log is copied into it. The log must be closed. */
export const bytesOf = (file: string): number => {
  const db = new DatabaseSync(file);
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  return existsSync(file) ? statSync(file).size : 0;
};
