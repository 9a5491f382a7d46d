/** The floor: what the disk itself takes to commit one row, with the settings of the log (WAL, `synchronous=FULL`) and nothing else. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { median } from "./statistics.ts";
import { removeFile } from "./stores.ts";

const ROW = JSON.stringify({
  key: "step#0",
  name: "step",
  status: "ok",
  output: { ok: true, n: 0 },
  attempts: 1,
});

export interface Floor {
  /** The median of `commits` single-row commits, in milliseconds. */
  commitMs(commits?: number): number;
  close(): void;
}

export const openFloor = (folder: string): Floor => {
  const file = join(folder, `floor-${process.pid}-${process.hrtime.bigint()}.db`);
  const db = new DatabaseSync(file);
  db.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000; CREATE TABLE rows (id INTEGER PRIMARY KEY, data TEXT)",
  );
  const insert = db.prepare("INSERT INTO rows (data) VALUES (?)");
  const commitMs = (commits = 200): number => {
    const took: number[] = [];
    for (let n = 0; n < commits; n += 1) {
      const before = performance.now();
      insert.run(ROW);
      took.push(performance.now() - before);
    }
    return median(took);
  };
  commitMs(50);
  return {
    commitMs,
    close() {
      db.close();
      removeFile(file);
    },
  };
};
