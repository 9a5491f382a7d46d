/** Puts the node's services on a gRPC server and counts their calls. */
import type { Server, ServerUnaryCall, sendUnaryData } from "@grpc/grpc-js";
import { appendService } from "./append-service.ts";
import { batchAppendService } from "./batch-append-service.ts";
import type { Core } from "./core.ts";
import { deleteService, tombstoneService } from "./delete-service.ts";
import { answerOnce } from "./faulty-call.ts";
import { supportedMethods } from "./features-service.ts";
import { clusterOfOne } from "./gossip-service.ts";
import { featuresService, gossipService, persistentService, streamsService } from "./messages.ts";
import { consumeService } from "./persistent/consume-service.ts";
import { groupService } from "./persistent/group-service.ts";
import type { Groups } from "./persistent/groups.ts";
import { readService } from "./read-service.ts";

export interface Identity {
  readonly version: string;
  readonly batchAppend: boolean;
  readonly member: () => {
    readonly id: string;
    readonly host: string;
    readonly port: number;
  };
}

export const register = (server: Server, core: Core, groups: Groups, identity: Identity): void => {
  server.addService(streamsService.StreamsService, {
    read: readService(core),
    append: appendService(core),
    batchAppend: batchAppendService(core),
    delete: deleteService(core),
    tombstone: tombstoneService(core),
  });
  server.addService(persistentService.PersistentSubscriptionsService, {
    ...groupService(core, groups),
    read: consumeService(core, groups),
  });
  const supported = supportedMethods(identity.version, identity.batchAppend);
  server.addService(featuresService.ServerFeaturesService, {
    getSupportedMethods: unary(core, "features", () => supported),
  });
  server.addService(gossipService.GossipService, {
    read: unary(core, "gossip", () =>
      clusterOfOne({
        ...identity.member(),
        ...core.faults.switches.advertise,
        leads: core.faults.switches.leader === undefined,
        now: core.database.now(),
      }),
    ),
  });
};

const unary =
  <Answer>(core: Core, point: "features" | "gossip", answer: () => Answer) =>
  (_call: ServerUnaryCall<unknown, Answer>, callback: sendUnaryData<Answer>): void => {
    answerOnce(core.faults.take(point, ""), callback, async () => answer());
  };
