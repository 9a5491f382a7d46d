/** PersistentSubscriptions.Read: one member of a group. What it sends after its options are acks and nacks. */
import { randomUUID } from "node:crypto";
import type { Metadata, ServerDuplexStream } from "@grpc/grpc-js";
import type { Core } from "../core.ts";
import { type Failure, groupDoesNotExist, groupDropped, groupFull, invalidArgument } from "../failures.ts";
import type { Fault } from "../faults.ts";
import { afterwards, pause, refusal } from "../faulty-call.ts";
import { guard } from "../guard.ts";
import { persistent } from "../messages.ts";
import { Outlet } from "../outlet.ts";
import { uuidsIn } from "../read-options.ts";
import { fillRecorded, outer, type Resolved, readUuid, streamName, type Uuids } from "../wire.ts";
import type { Group, Member, NackAction } from "./group.ts";
import type { Groups } from "./groups.ts";
import { ALL } from "./settings.ts";

type Request = InstanceType<typeof persistent.ReadReq>;
type Response = InstanceType<typeof persistent.ReadResp>;
type Options = InstanceType<typeof persistent.ReadReq.Options>;

const ACTIONS: readonly NackAction[] = ["retry", "park", "retry", "skip", "stop"];

export const consumeService =
  (core: Core, groups: Groups) =>
  (call: ServerDuplexStream<Request, Response>): void => {
    const outlet = new Outlet<Response>(call);
    let group: Group | undefined;
    // Acks are taken in the order in which they come, also those that come before the group is joined.
    let queue: Promise<void> | undefined;

    const answer = (request: Request): void => {
      if (group === undefined || outlet.over) return;
      const ack = request.getAck();
      const nack = request.getNack();
      if (ack !== undefined) group.ack(idsOf(ack.getIdsList()));
      else if (nack !== undefined)
        group.nack(idsOf(nack.getIdsList()), ACTIONS[nack.getAction()] ?? "skip", nack.getReason());
    };

    call.on("data", (request: Request) => {
      const options = request.getOptions();
      if (options === undefined) {
        if (queue === undefined) outlet.fail(invalidArgument("a group must be named first"));
        else if (group === undefined) queue = queue.then(() => answer(request));
        else answer(request);
        return;
      }
      queue = join(core, groups, outlet, options, {
        from: call.getPeer(),
        metadata: call.metadata,
      }).then((joined) => {
        group = joined;
      });
    });
    call.on("end", () => outlet.end());
  };

const idsOf = (uuids: readonly Parameters<typeof readUuid>[0][]): string[] =>
  uuids.map(readUuid).filter((id) => id !== undefined);

const join = async (
  core: Core,
  groups: Groups,
  outlet: Outlet<Response>,
  options: Options,
  origin: { readonly from: string; readonly metadata: Metadata },
): Promise<Group | undefined> => {
  const source = options.hasAll() ? ALL : streamName(options.getStreamIdentifier());
  const name = options.getGroupName();
  const denied = guard(core, origin.metadata, source, "group");
  if (denied !== undefined) return refuse(outlet, denied);
  const fault = core.faults.take("consume", source);
  const refused = refusal(fault);
  if (refused !== undefined) return refuse(outlet, refused);
  if (fault?.kind === "delay" || fault?.kind === "stall") await pause(fault.delayMs ?? 0);
  if (fault?.kind === "drop") return undefined;
  const group = groups.find(source, name);
  if (group === undefined) return refuse(outlet, groupDoesNotExist(source, name));
  const { maxSubscriberCount } = group.config.settings;
  if (maxSubscriberCount > 0 && group.members.size >= maxSubscriberCount)
    return refuse(outlet, groupFull(source, name));
  outlet.send(confirmation());
  const broken = afterwards(fault);
  if (broken !== undefined && broken !== "nothing") return refuse(outlet, broken);
  const member = group.join({
    from: origin.from,
    connectionName: String(origin.metadata.get("connection-name")[0] ?? ""),
    bufferSize: options.getBufferSize(),
    username: "anonymous",
    open: () => outlet.open,
    send: sender(outlet, uuidsIn(options), fault),
  });
  outlet.onOver(
    groups.onDrop(group, (why) =>
      outlet.fail(why === "updated" ? groupDropped(source, name) : groupDoesNotExist(source, name)),
    ),
  );
  outlet.onOver(() => group.leave(member));
  feed(outlet, group, member);
  return group;
};

/** A connection that takes more again has room again. */
const feed = async (outlet: Outlet<Response>, group: Group, member: Member): Promise<void> => {
  while (!outlet.over) {
    await outlet.idle();
    if (member.hasRoom()) group.pump();
  }
};

const refuse = (outlet: Outlet<Response>, failure: Failure): undefined => {
  outlet.fail(failure);
};

const sender =
  (outlet: Outlet<Response>, uuids: Uuids, fault: Fault | undefined) =>
  (resolved: Resolved, retries: number): void => {
    const message = response(resolved, retries, uuids);
    outlet.send(message);
    if (fault?.kind === "duplicate") outlet.send(message);
  };

const confirmation = (): Response => {
  const message = new persistent.ReadResp.SubscriptionConfirmation();
  message.setSubscriptionId(randomUUID());
  const answer = new persistent.ReadResp();
  answer.setSubscriptionConfirmation(message);
  return answer;
};

const response = (resolved: Resolved, retries: number, uuids: Uuids): Response => {
  const { ReadEvent } = persistent.ReadResp;
  const message = new ReadEvent();
  if (resolved.event !== undefined)
    message.setEvent(fillRecorded(new ReadEvent.RecordedEvent(), resolved.event, uuids));
  if (resolved.link !== undefined)
    message.setLink(fillRecorded(new ReadEvent.RecordedEvent(), resolved.link, uuids));
  message.setCommitPosition(String(outer(resolved).position));
  message.setRetryCount(retries);
  const answer = new persistent.ReadResp();
  answer.setEvent(message);
  return answer;
};
