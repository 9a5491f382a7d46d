/** All persistent subscriptions of a node. Which there are is kept in one system stream; each begins again when the node does. */
import { randomUUID } from "node:crypto";
import type { Database } from "../database.ts";
import { NO_BYTES } from "../record.ts";
import { Group } from "./group.ts";
import type { GroupConfig } from "./settings.ts";

const CONFIG_STREAM = "$persistentSubscriptionConfig";

export class Groups {
  readonly #database: Database;
  readonly #tickMs: number;
  readonly #groups = new Map<string, Group>();
  /** Told why, when a group is taken from its members. */
  readonly #droppers = new Map<Group, Set<(why: "updated" | "deleted") => void>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database, tickMs: number) {
    this.#database = database;
    this.#tickMs = tickMs;
    this.#load();
  }

  find(source: string, group: string): Group | undefined {
    return this.#groups.get(keyOf(source, group));
  }

  list(): readonly Group[] {
    return [...this.#groups.values()];
  }

  /** Answers when it is kept. */
  async create(config: GroupConfig): Promise<void> {
    this.#groups.set(keyOf(config.source, config.group), new Group(this.#database, config));
    await this.#save();
  }

  /** The members are dropped; the group goes on from its checkpoint, and keeps its filter. */
  async update(group: Group, config: GroupConfig): Promise<void> {
    this.#drop(group, "updated");
    const { filter } = group.config;
    await this.create(filter === undefined ? config : { ...config, filter });
  }

  async delete(group: Group): Promise<void> {
    this.#drop(group, "deleted");
    this.#groups.delete(keyOf(group.config.source, group.config.group));
    group.forget();
    await this.#save();
  }

  /** Tells `dropped` when the group is updated or deleted. The answer ends that. */
  onDrop(group: Group, dropped: (why: "updated" | "deleted") => void): () => void {
    const droppers = this.#droppers.get(group) ?? new Set();
    this.#droppers.set(group, droppers);
    droppers.add(dropped);
    return () => droppers.delete(dropped);
  }

  /** Every group begins again from its checkpoint. */
  restart(): void {
    for (const group of this.#groups.values()) this.#drop(group, "updated");
    this.#load();
  }

  close(): void {
    clearInterval(this.#timer);
    for (const group of this.#groups.values()) group.close();
  }

  #drop(group: Group, why: "updated" | "deleted"): void {
    group.close();
    const droppers = this.#droppers.get(group);
    this.#droppers.delete(group);
    for (const dropped of droppers ?? []) dropped(why);
  }

  #load(): void {
    const state = this.#database.stream(CONFIG_STREAM);
    const last = state?.records[state.visible - 1];
    const configs =
      last === undefined ? [] : (JSON.parse(Buffer.from(last.data).toString("utf8")) as GroupConfig[]);
    for (const config of configs)
      this.#groups.set(keyOf(config.source, config.group), new Group(this.#database, config));
    this.#startTicking();
  }

  async #save(): Promise<void> {
    const configs = this.list().map((group) => group.config);
    await this.#database.append(CONFIG_STREAM, "any", [
      {
        id: randomUUID(),
        type: "$PersistentConfig",
        isJson: true,
        data: Buffer.from(JSON.stringify(configs), "utf8"),
        metadata: NO_BYTES,
      },
    ]);
    this.#startTicking();
  }

  #startTicking(): void {
    if (this.#timer !== undefined || this.#groups.size === 0) return;
    this.#timer = setInterval(() => {
      for (const group of this.#groups.values()) group.tick();
    }, this.#tickMs);
    this.#timer.unref();
  }
}

const keyOf = (source: string, group: string): string => `${source}::${group}`;
