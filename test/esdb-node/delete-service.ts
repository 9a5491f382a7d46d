/** Streams.Delete (soft) and Streams.Tombstone (for good). A wrong revision is a status here, with trailers. */
import type { ServerUnaryCall, sendUnaryData } from "@grpc/grpc-js";
import type { Expected } from "./append-rules.ts";
import { expectedIn } from "./append-work.ts";
import type { Core } from "./core.ts";
import type { Outcome } from "./database.ts";
import { type Failure, logFailed, serverTimeout, streamDeleted, wrongExpectedVersion } from "./failures.ts";
import { answerOnce } from "./faulty-call.ts";
import { guard } from "./guard.ts";
import { streams } from "./messages.ts";
import { streamName } from "./wire.ts";

type DeleteRequest = InstanceType<typeof streams.DeleteReq>;
type DeleteResponse = InstanceType<typeof streams.DeleteResp>;
type TombstoneRequest = InstanceType<typeof streams.TombstoneReq>;
type TombstoneResponse = InstanceType<typeof streams.TombstoneResp>;

export const deleteService =
  (core: Core) =>
  (call: ServerUnaryCall<DeleteRequest, DeleteResponse>, callback: sendUnaryData<DeleteResponse>): void => {
    const options = call.request.getOptions()!;
    const stream = streamName(options.getStreamIdentifier());
    const expected = expectedIn(options, options.getRevision());
    answerOnce(core.faults.take("delete", stream), callback, async () => {
      const denied = guard(core, call.metadata, stream, "stream");
      if (denied !== undefined) return { failure: denied };
      const outcome = await core.database.delete(stream, expected);
      if (outcome._tag !== "Written") return { failure: failureOf(stream, expected, outcome) };
      const response = new streams.DeleteResp();
      response.setPosition(at(new streams.DeleteResp.Position(), outcome.position!));
      return response;
    });
  };

export const tombstoneService =
  (core: Core) =>
  (
    call: ServerUnaryCall<TombstoneRequest, TombstoneResponse>,
    callback: sendUnaryData<TombstoneResponse>,
  ): void => {
    const options = call.request.getOptions()!;
    const stream = streamName(options.getStreamIdentifier());
    const expected = expectedIn(options, options.getRevision());
    answerOnce(core.faults.take("delete", stream), callback, async () => {
      const denied = guard(core, call.metadata, stream, "stream");
      if (denied !== undefined) return { failure: denied };
      const outcome = await core.database.tombstone(stream, expected);
      if (outcome._tag !== "Written") return { failure: failureOf(stream, expected, outcome) };
      const response = new streams.TombstoneResp();
      response.setPosition(at(new streams.TombstoneResp.Position(), outcome.position!));
      return response;
    });
  };

const at = <
  Message extends { setCommitPosition(at: string): unknown; setPreparePosition(at: string): unknown },
>(
  message: Message,
  position: number,
): Message => {
  message.setCommitPosition(String(position));
  message.setPreparePosition(String(position));
  return message;
};

const failureOf = (
  stream: string,
  expected: Expected,
  outcome: Exclude<Outcome, { _tag: "Written" }>,
): Failure => {
  switch (outcome._tag) {
    case "Wrong":
      return wrongExpectedVersion(stream, expected, outcome.actual);
    case "Deleted":
      return streamDeleted(stream);
    case "Ignored":
      return serverTimeout();
    case "LogFailed":
      return logFailed(outcome.reason);
  }
};
