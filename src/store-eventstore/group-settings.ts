/**
 * How a consumer group is made on the server: a persistent subscription to `$all`. What is not said here is the client's default.
 *
 * A group's filter is fixed when it is made and cannot be asked for afterwards, so it is part of the group's name there: consumers that
 * come with another filter get a group of their own, from the beginning of the log, instead of one that leaves out what they want.
 */
import { createHash } from "node:crypto";
import { PINNED, persistentSubscriptionToAllSettingsFromDefaults, START } from "@eventstore/db-client";
import type { EventFilter } from "../events/event-log.ts";
import { writeName } from "./names.ts";

export const GROUP_SETTINGS = persistentSubscriptionToAllSettingsFromDefaults({
  startFrom: START,
  // A stream's events go to one consumer while the server sees it, as well as it can.
  consumerStrategyName: PINNED,
  // 0 is never. What a consumer holds is its own until it says otherwise or its connection ends: a walk may take its time.
  messageTimeout: 0,
  // Nothing is parked but by a consumer that says so. The server counts every change of consumer as a retry.
  maxRetryCount: 2 ** 31 - 1,
  // What a restart of the server may have it deliver again: the acks of a second, or the last 1,000 of a busy one.
  checkPointAfter: 1_000,
  checkPointLowerBound: 1,
  checkPointUpperBound: 1_000,
  readBatchSize: 200,
  historyBufferSize: 1_000,
  liveBufferSize: 1_000,
});

/** The group's name on the server: `<group>`, and where there is a filter `~` and eight digits that stand for it. */
export const serverGroup = (group: string, filter: EventFilter | undefined): string => {
  const { streamPrefix, types } = filter ?? {};
  if (streamPrefix === undefined && types === undefined) return writeName(group);
  const text = JSON.stringify([
    streamPrefix ?? null,
    types === undefined ? null : [...new Set(types)].toSorted(),
  ]);
  return `${writeName(group)}~${createHash("sha256").update(text).digest("hex").slice(0, 8)}`;
};
