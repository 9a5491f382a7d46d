/** Puts the node's services on a gRPC server and counts their calls. */
import type {
  handleServerStreamingCall,
  handleUnaryCall,
  Server,
  ServerUnaryCall,
  sendUnaryData,
} from "@grpc/grpc-js";
import { appendService } from "./append-service.ts";
import { batchAppendService } from "./batch-append-service.ts";
import type { Core } from "./core.ts";
import { deleteService, tombstoneService } from "./delete-service.ts";
import { invalidArgument } from "./failures.ts";
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
  const group = groupService(core, groups);
  server.addService(streamsService.StreamsService, {
    read: streamed(readService(core)),
    append: appendService(core),
    batchAppend: batchAppendService(core),
    delete: answered(deleteService(core)),
    tombstone: answered(tombstoneService(core)),
  });
  server.addService(persistentService.PersistentSubscriptionsService, {
    create: answered(group.create),
    update: answered(group.update),
    delete: answered(group.delete),
    getInfo: answered(group.getInfo),
    list: answered(group.list),
    replayParked: answered(group.replayParked),
    restartSubsystem: answered(group.restartSubsystem),
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

/** A request that lacks a part which every client sends is refused, and does not bring the node down. */
const answered =
  <Request, Answer>(handle: handleUnaryCall<Request, Answer>): handleUnaryCall<Request, Answer> =>
  (call, callback) => {
    try {
      handle(call, callback);
    } catch (error) {
      callback(invalidArgument((error as Error).message));
    }
  };

const streamed =
  <Request, Answer>(
    handle: handleServerStreamingCall<Request, Answer>,
  ): handleServerStreamingCall<Request, Answer> =>
  (call) => {
    try {
      handle(call);
    } catch (error) {
      call.emit("error", invalidArgument((error as Error).message));
    }
  };
