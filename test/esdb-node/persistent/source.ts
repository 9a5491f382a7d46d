/**
 * Where a group's messages come from: a stream or `$all`, read forwards from a place and on as it grows.
 *
 * A place is a revision (of a stream) or a position (of `$all`), and is kept as text in the group's checkpoints.
 */
import type { Database } from "../database.ts";
import { filterOf, shownInAll } from "../filters.ts";
import type { LogRecord } from "../record.ts";
import { firstVisible, isSoftDeleted } from "../stream-state.ts";
import { ALL, type GroupConfig, type StartFrom } from "./settings.ts";

export interface Source {
  /** The next record and whether the group wants it; undefined at the end. */
  next(): { readonly record: LogRecord; readonly place: number; readonly matches: boolean } | undefined;
  /** The place of the last record there is, if there is one. */
  last(): number | undefined;
}

/** `after`: the last place that is done with. Without it the source begins at `startFrom`, inclusive. */
export const openSource = (database: Database, config: GroupConfig, after: number | undefined): Source =>
  config.source === ALL ? allSource(database, config, after) : streamSource(database, config, after);

const allSource = (database: Database, config: GroupConfig, after: number | undefined): Source => {
  const filter = filterOf(config.filter);
  const { startFrom } = config.settings;
  let index =
    after !== undefined
      ? database.indexOf(after + 1)
      : startFrom === "end"
        ? database.visible
        : database.indexOf(startFrom);
  return {
    next: () => {
      while (index < database.visible) {
        const record = database.all[index]!;
        index += 1;
        if (shownInAll(record)) return { record, place: record.position, matches: filter(record) };
      }
      return undefined;
    },
    last: () => database.all[database.visible - 1]?.position,
  };
};

const streamSource = (database: Database, config: GroupConfig, after: number | undefined): Source => {
  const { source, settings } = config;
  const visible = () => database.stream(source)?.visible ?? 0;
  let revision =
    after !== undefined ? after + 1 : settings.startFrom === "end" ? visible() : settings.startFrom;
  return {
    next: () => {
      const state = database.stream(source);
      if (state === undefined || revision >= state.visible || state.tombstoned) return undefined;
      const metadata = database.metadata(source);
      if (isSoftDeleted(metadata)) return undefined;
      revision = Math.max(revision, firstVisible(state, metadata, database.now()));
      if (revision >= state.visible) return undefined;
      const record = state.records[revision]!;
      revision += 1;
      return { record, place: record.revision, matches: true };
    },
    last: () => (visible() === 0 ? undefined : visible() - 1),
  };
};

export const placeText = (source: string, place: number): string =>
  source === ALL ? `C:${place}/P:${place}` : String(place);

export const startText = (source: string, startFrom: StartFrom): string =>
  startFrom !== "end" ? placeText(source, startFrom) : source === ALL ? "C:-1/P:-1" : "-1";

export const parsePlace = (text: string): number => Number(/^(?:C:)?(\d+)/.exec(text)![1]);
