/** The client's generated messages and service definitions, under one name each. They are CommonJS: what they export is on `default`. */

export { default as gossipService } from "@eventstore/db-client/generated/gossip_grpc_pb.js";
export { default as gossip } from "@eventstore/db-client/generated/gossip_pb.js";
export { default as persistentService } from "@eventstore/db-client/generated/persistent_grpc_pb.js";
export { default as persistent } from "@eventstore/db-client/generated/persistent_pb.js";
export { default as featuresService } from "@eventstore/db-client/generated/serverfeatures_grpc_pb.js";
export { default as features } from "@eventstore/db-client/generated/serverfeatures_pb.js";
export { default as shared } from "@eventstore/db-client/generated/shared_pb.js";
export { default as statuses } from "@eventstore/db-client/generated/status_pb.js";
export { default as streamsService } from "@eventstore/db-client/generated/streams_grpc_pb.js";
export { default as streams } from "@eventstore/db-client/generated/streams_pb.js";
export { default as empty } from "google-protobuf/google/protobuf/empty_pb.js";
