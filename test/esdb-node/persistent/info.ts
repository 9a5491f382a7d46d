/** A group as GetInfo and List describe it. Rates are not measured and are 0. */
import { persistent } from "../messages.ts";
import type { Group, Member } from "./group.ts";
import { placeText, startText } from "./source.ts";

type Info = InstanceType<typeof persistent.SubscriptionInfo>;

export const infoOf = (group: Group): Info => {
  const { source, settings } = group.config;
  const place = (at: number | undefined) => (at === undefined ? "" : placeText(source, at));
  const info = new persistent.SubscriptionInfo();
  info.setEventSource(source);
  info.setGroupName(group.config.group);
  info.setStatus("Live");
  info.setTotalItems(String(group.total));
  info.setCountSinceLastMeasurement("0");
  info.setLastCheckpointedEventPosition(place(group.lastCheckpoint));
  info.setLastKnownEventPosition(place(group.lastKnown));
  info.setResolveLinkTos(settings.resolveLinks);
  info.setStartFrom(startText(source, settings.startFrom));
  info.setMessageTimeoutMilliseconds(settings.messageTimeout);
  info.setExtraStatistics(settings.extraStatistics);
  info.setMaxRetryCount(settings.maxRetryCount);
  info.setLiveBufferSize(settings.liveBufferSize);
  info.setBufferSize(settings.historyBufferSize);
  info.setReadBatchSize(settings.readBatchSize);
  info.setCheckPointAfterMilliseconds(settings.checkpointAfter);
  info.setMinCheckPointCount(settings.minCheckpointCount);
  info.setMaxCheckPointCount(settings.maxCheckpointCount);
  info.setReadBufferCount(group.buffered);
  info.setLiveBufferCount("0");
  info.setRetryBufferCount(group.retrying);
  info.setTotalInFlightMessages(group.inFlight);
  info.setOutstandingMessagesCount(group.inFlight);
  info.setNamedConsumerStrategy(settings.strategy);
  info.setMaxSubscriberCount(settings.maxSubscriberCount);
  info.setParkedMessageCount(String(group.parked.count));
  for (const member of group.members) info.addConnections(connectionOf(member));
  return info;
};

const connectionOf = (member: Member) => {
  const connection = new persistent.SubscriptionInfo.ConnectionInfo();
  connection.setFrom(member.from);
  connection.setUsername(member.username);
  connection.setTotalItems(String(member.total));
  connection.setCountSinceLastMeasurement("0");
  connection.setAvailableSlots(member.bufferSize - member.inFlight);
  connection.setInFlightMessages(member.inFlight);
  connection.setConnectionName(member.connectionName);
  return connection;
};
