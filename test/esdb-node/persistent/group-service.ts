/** PersistentSubscriptions but for Read: making, changing, deleting, describing groups, and replaying what they parked. */
import type { ServerUnaryCall, sendUnaryData } from "@grpc/grpc-js";
import type { Core } from "../core.ts";
import { type Failure, groupDoesNotExist, groupExists, groupFailed } from "../failures.ts";
import { answerOnce } from "../faulty-call.ts";
import { guard } from "../guard.ts";
import { persistent, shared } from "../messages.ts";
import { streamName } from "../wire.ts";
import type { Group } from "./group.ts";
import type { Groups } from "./groups.ts";
import { infoOf } from "./info.ts";
import { ALL, configOf, faultIn } from "./settings.ts";

/** How a request names a group. */
interface Named {
  hasAll(): boolean;
  getStreamIdentifier(): InstanceType<typeof shared.StreamIdentifier> | undefined;
  getGroupName(): string;
}

export const groupService = (core: Core, groups: Groups) => {
  const unary =
    <Request, Answer>(
      sourceOf: (request: Request) => string,
      work: (request: Request) => Promise<Answer | { readonly failure: Failure }>,
    ) =>
    (call: ServerUnaryCall<Request, Answer>, callback: sendUnaryData<Answer>): void => {
      const source = sourceOf(call.request);
      const denied = guard(core, call.metadata, source, "group");
      answerOnce(core.faults.take("group", source), callback, () =>
        denied === undefined ? work(call.request) : Promise.resolve({ failure: denied }),
      );
    };

  const withGroup = async <Answer>(
    named: Named,
    work: (group: Group) => Answer | Promise<Answer>,
  ): Promise<Answer | { readonly failure: Failure }> => {
    const source = sourceNamed(named);
    const group = groups.find(source, named.getGroupName());
    return group === undefined ? { failure: groupDoesNotExist(source, named.getGroupName()) } : work(group);
  };

  return {
    create: unary(
      (request: InstanceType<typeof persistent.CreateReq>) => configOf(request.getOptions()!).source,
      async (request) => {
        const config = configOf(request.getOptions()!);
        const { source, group } = config;
        const reason = faultIn(config);
        if (reason !== undefined) return { failure: groupFailed(source, group, reason) };
        if (groups.find(source, group) !== undefined) return { failure: groupExists(source, group) };
        await groups.create(config);
        return new persistent.CreateResp();
      },
    ),
    update: unary(
      (request: InstanceType<typeof persistent.UpdateReq>) => configOf(request.getOptions()!).source,
      async (request) => {
        const config = configOf(request.getOptions()!);
        const existing = groups.find(config.source, config.group);
        if (existing === undefined) return { failure: groupDoesNotExist(config.source, config.group) };
        const reason = faultIn(config);
        if (reason !== undefined) return { failure: groupFailed(config.source, config.group, reason) };
        await groups.update(existing, config);
        return new persistent.UpdateResp();
      },
    ),
    delete: unary(
      (request: InstanceType<typeof persistent.DeleteReq>) => sourceNamed(request.getOptions()!),
      (request) =>
        withGroup(request.getOptions()!, async (group) => {
          await groups.delete(group);
          return new persistent.DeleteResp();
        }),
    ),
    getInfo: unary(
      (request: InstanceType<typeof persistent.GetInfoReq>) => sourceNamed(request.getOptions()!),
      (request) =>
        withGroup(request.getOptions()!, (group) => {
          const response = new persistent.GetInfoResp();
          response.setSubscriptionInfo(infoOf(group));
          return response;
        }),
    ),
    list: unary(
      () => "",
      async (request: InstanceType<typeof persistent.ListReq>) => {
        const only = request.getOptions()!.getListForStream();
        const source = only === undefined ? undefined : only.hasAll() ? ALL : streamName(only.getStream());
        const listed = groups
          .list()
          .filter((group) => source === undefined || group.config.source === source);
        // A server has no empty list: it says that there is no group of no name.
        if (listed.length === 0) return { failure: groupDoesNotExist(source ?? "", "") };
        const response = new persistent.ListResp();
        for (const group of listed) response.addSubscriptions(infoOf(group));
        return response;
      },
    ),
    replayParked: unary(
      (request: InstanceType<typeof persistent.ReplayParkedReq>) => sourceNamed(request.getOptions()!),
      (request) => {
        const options = request.getOptions()!;
        return withGroup(options, (group) => {
          group.replay(options.hasStopAt() ? Number(options.getStopAt()) : undefined);
          return new persistent.ReplayParkedResp();
        });
      },
    ),
    restartSubsystem: unary(
      () => "",
      async () => {
        groups.restart();
        return new shared.Empty();
      },
    ),
  };
};

const sourceNamed = (named: Named): string =>
  named.hasAll() ? ALL : streamName(named.getStreamIdentifier());
