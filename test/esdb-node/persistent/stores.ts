/** What a group writes of itself: its checkpoints and its parked messages, each in a system stream of the same log. */
import { randomUUID } from "node:crypto";
import { type Database, metadataEvent } from "../database.ts";
import { visibleRecord } from "../read-options.ts";
import { LINK_TYPE, type LogRecord, NO_BYTES } from "../record.ts";
import { firstVisible, METADATA_PREFIX } from "../stream-state.ts";
import { resolve } from "../wire.ts";
import type { GroupConfig } from "./settings.ts";
import { parsePlace, placeText } from "./source.ts";

const nameOf = ({ source, group }: GroupConfig, what: "checkpoint" | "parked"): string =>
  `$persistentsubscription-${source}::${group}-${what}`;

export class Checkpoints {
  readonly #database: Database;
  readonly #config: GroupConfig;
  readonly #stream: string;

  constructor(database: Database, config: GroupConfig) {
    this.#database = database;
    this.#config = config;
    this.#stream = nameOf(config, "checkpoint");
  }

  /** The last place that the group is done with. */
  read(): number | undefined {
    const state = this.#database.stream(this.#stream);
    if (state === undefined || isGone(this.#database, this.#stream)) return undefined;
    const last = state.records[state.visible - 1];
    return last === undefined
      ? undefined
      : parsePlace(JSON.parse(Buffer.from(last.data).toString("utf8")) as string);
  }

  write(place: number): void {
    const data = Buffer.from(JSON.stringify(placeText(this.#config.source, place)), "utf8");
    const event = {
      id: randomUUID(),
      type: "$SubscriptionCheckpoint",
      isJson: true,
      data,
      metadata: NO_BYTES,
    };
    if (this.#database.stream(this.#stream) === undefined)
      this.#database.append(METADATA_PREFIX + this.#stream, "any", [metadataEvent('{"$maxCount":2}')]);
    this.#database.append(this.#stream, "any", [event]);
  }

  delete(): void {
    this.#database.delete(this.#stream, "any");
  }
}

/** A parked message: the record that says so, and the one it is about. */
export interface Parked {
  readonly link: LogRecord;
  readonly record: LogRecord | undefined;
}

export class ParkedMessages {
  readonly #database: Database;
  readonly #stream: string;

  constructor(database: Database, config: GroupConfig) {
    this.#database = database;
    this.#stream = nameOf(config, "parked");
  }

  async park(record: LogRecord, reason: string): Promise<void> {
    const metadata = { added: new Date(this.#database.now()).toISOString(), reason };
    await this.#database.append(this.#stream, "any", [
      {
        id: randomUUID(),
        type: LINK_TYPE,
        isJson: false,
        data: Buffer.from(`${record.revision}@${record.stream}`, "utf8"),
        metadata: Buffer.from(JSON.stringify(metadata), "utf8"),
      },
    ]);
  }

  get count(): number {
    const state = this.#database.stream(this.#stream);
    return state === undefined || isGone(this.#database, this.#stream)
      ? 0
      : Math.max(0, state.visible - this.#first());
  }

  /** Takes the messages out that are before revision `stopAt` of the parked stream. Default: all. */
  take(stopAt: number | undefined): readonly Parked[] {
    const state = this.#database.stream(this.#stream);
    if (state === undefined || this.count === 0) return [];
    const end = Math.min(stopAt ?? state.visible, state.visible);
    const find = (stream: string, revision: number) => visibleRecord(this.#database, stream, revision);
    const taken = state.records
      .slice(this.#first(), end)
      .map((link) => ({ link, record: resolve(link, true, find).event }));
    this.#database.append(METADATA_PREFIX + this.#stream, "any", [
      metadataEvent(JSON.stringify({ $tb: end })),
    ]);
    return taken;
  }

  delete(): void {
    this.#database.delete(this.#stream, "any");
  }

  #first(): number {
    const state = this.#database.stream(this.#stream)!;
    return firstVisible(state, this.#database.metadata(this.#stream), this.#database.now());
  }
}

const isGone = (database: Database, stream: string): boolean => {
  const state = database.stream(stream)!;
  return firstVisible(state, database.metadata(stream), database.now()) >= state.visible;
};
