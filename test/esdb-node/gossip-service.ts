/** Gossip: this node alone, at the address it advertises. */
import { gossip } from "./messages.ts";
import { writeUuid } from "./wire.ts";

type ClusterInfo = InstanceType<typeof gossip.ClusterInfo>;

const LEADER = 8;
const FOLLOWER = 6;
const TICKS_PER_MS = 10_000n;
/** 1970-01-01 in ticks since the year 1. */
const UNIX_EPOCH_TICKS = 621_355_968_000_000_000n;

export const clusterOfOne = (member: {
  readonly id: string;
  readonly host: string;
  readonly port: number;
  readonly leads: boolean;
  readonly now: number;
}): ClusterInfo => {
  const endpoint = new gossip.EndPoint();
  endpoint.setAddress(member.host);
  endpoint.setPort(member.port);
  const info = new gossip.MemberInfo();
  info.setInstanceId(writeUuid(member.id, "string"));
  info.setTimeStamp(String(BigInt(member.now) * TICKS_PER_MS + UNIX_EPOCH_TICKS));
  info.setState(member.leads ? LEADER : FOLLOWER);
  info.setIsAlive(true);
  info.setHttpEndPoint(endpoint);
  const cluster = new gossip.ClusterInfo();
  cluster.addMembers(info);
  return cluster;
};
