/** The settings of a persistent subscription, as a client sends them and as the node keeps them. Times are in milliseconds. */
import { type FilterMessage, type FilterText, filterText } from "../filters.ts";
import type { persistent } from "../messages.ts";
import { MINUS_ONE, streamName } from "../wire.ts";

export type CreateOptions = InstanceType<typeof persistent.CreateReq.Options>;
export type UpdateOptions = InstanceType<typeof persistent.UpdateReq.Options>;

export const STRATEGIES = ["DispatchToSingle", "RoundRobin", "Pinned"] as const;
export type Strategy = (typeof STRATEGIES)[number];

/** The name by which `$all` stands in a group's key. */
export const ALL = "$all";

/** A revision (of a stream) or a position (of `$all`), inclusive; `"end"` is whatever comes once the group runs. */
export type StartFrom = number | "end";

export interface GroupSettings {
  readonly startFrom: StartFrom;
  readonly resolveLinks: boolean;
  readonly extraStatistics: boolean;
  /** 0 is never. */
  readonly messageTimeout: number;
  readonly maxRetryCount: number;
  readonly checkpointAfter: number;
  readonly minCheckpointCount: number;
  readonly maxCheckpointCount: number;
  /** 0 is any number. */
  readonly maxSubscriberCount: number;
  readonly liveBufferSize: number;
  readonly readBatchSize: number;
  readonly historyBufferSize: number;
  readonly strategy: Strategy;
}

/** What a group is, apart from how far it has come. */
export interface GroupConfig {
  /** A stream's name or {@link ALL}. */
  readonly source: string;
  readonly group: string;
  readonly filter?: FilterText;
  readonly settings: GroupSettings;
}

export const configOf = (options: CreateOptions | UpdateOptions): GroupConfig => {
  const all = options.getAll();
  const stream = options.getStream();
  const settings = options.getSettings()!;
  const filter =
    all !== undefined && "getFilter" in all
      ? filterText(all.getFilter() as FilterMessage | undefined)
      : undefined;
  return {
    source:
      all === undefined ? streamName(stream?.getStreamIdentifier() ?? options.getStreamIdentifier()) : ALL,
    group: options.getGroupName(),
    ...(filter === undefined ? {} : { filter }),
    settings: {
      startFrom: all === undefined ? streamStart(options) : allStart(all),
      resolveLinks: settings.getResolveLinks(),
      extraStatistics: settings.getExtraStatistics(),
      messageTimeout: settings.hasMessageTimeoutTicks()
        ? Number(settings.getMessageTimeoutTicks()) / TICKS_PER_MS
        : settings.getMessageTimeoutMs(),
      maxRetryCount: settings.getMaxRetryCount(),
      checkpointAfter: settings.hasCheckpointAfterTicks()
        ? Number(settings.getCheckpointAfterTicks()) / TICKS_PER_MS
        : settings.getCheckpointAfterMs(),
      minCheckpointCount: settings.getMinCheckpointCount(),
      maxCheckpointCount: settings.getMaxCheckpointCount(),
      maxSubscriberCount: settings.getMaxSubscriberCount(),
      liveBufferSize: settings.getLiveBufferSize(),
      readBatchSize: settings.getReadBatchSize(),
      historyBufferSize: settings.getHistoryBufferSize(),
      strategy: strategyIn(settings),
    },
  };
};

const TICKS_PER_MS = 10_000;

interface StrategySettings {
  getNamedConsumerStrategy(): number;
}

/** The newest clients send a name, older ones a number. */
const strategyIn = (settings: StrategySettings & { getConsumerStrategy?(): string }): Strategy => {
  const name = settings.getConsumerStrategy?.() ?? "";
  return STRATEGIES.find((strategy) => strategy === name) ?? STRATEGIES[settings.getNamedConsumerStrategy()]!;
};

const streamStart = (options: CreateOptions | UpdateOptions): StartFrom => {
  const stream = options.getStream();
  if (stream?.hasEnd()) return "end";
  if (stream?.hasStart()) return 0;
  return placeOrEnd(stream?.hasRevision() ? stream.getRevision() : options.getSettings()!.getRevision());
};

/** Older requests have only a revision, and 2^64-1 for the end. */
const placeOrEnd = (text: string): StartFrom => (text === MINUS_ONE ? "end" : Number(text));

interface AllStart {
  hasEnd(): boolean;
  hasStart(): boolean;
  getPosition(): { getCommitPosition(): string } | undefined;
}

const allStart = (all: AllStart): StartFrom =>
  all.hasEnd() ? "end" : all.hasStart() ? 0 : placeOrEnd(all.getPosition()!.getCommitPosition());

/** What is wrong with the settings, if anything is. */
export const faultIn = ({ settings }: GroupConfig): string | undefined => {
  if (settings.historyBufferSize <= 0) return "Buffer Size must be positive";
  if (settings.liveBufferSize <= 0) return "Live Buffer Size must be positive";
  if (settings.readBatchSize <= 0) return "Read Batch Size must be positive";
  if (settings.readBatchSize >= settings.historyBufferSize)
    return "BufferSize must be larger than ReadBatchSize";
  return undefined;
};
