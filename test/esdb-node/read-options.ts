/** What reads and subscriptions have in common: the request's parts, and where they lead in the database. */
import type { Database } from "./database.ts";
import type { streams } from "./messages.ts";
import { type LogRecord, TOMBSTONE } from "./record.ts";
import { firstVisible } from "./stream-state.ts";
import type { Uuids } from "./wire.ts";

export type ReadRequest = InstanceType<typeof streams.ReadReq>;
export type ReadResponse = InstanceType<typeof streams.ReadResp>;
export type ReadOptions = InstanceType<typeof streams.ReadReq.Options>;

export const uuidsIn = (options: { getUuidOption(): { hasString(): boolean } | undefined }): Uuids =>
  options.getUuidOption()?.hasString() ? "string" : "structured";

/** The record that a link leads to, if its stream still shows it. */
export const visibleRecord = (
  database: Database,
  stream: string,
  revision: number,
): LogRecord | undefined => {
  const state = database.stream(stream);
  if (state === undefined || revision >= state.visible) return undefined;
  if (state.records[state.visible - 1]!.revision === TOMBSTONE) return undefined;
  const first = firstVisible(state, database.metadata(stream), database.now());
  return revision < first ? undefined : state.records[revision];
};

/** The index of the record at `position`, or the end of the log; undefined where no record begins, which a real log refuses too. */
export const indexAt = (database: Database, position: string): number | undefined => {
  const place = Number(position);
  const index = database.indexOf(place);
  return index === database.visible || database.all[index]!.position === place ? index : undefined;
};
