/** Streams.Append: one call for one append. A wrong revision is an answer here, everything else that goes wrong is a status. */
import type { ServerReadableStream, sendUnaryData } from "@grpc/grpc-js";
import type { Expected } from "./append-rules.ts";
import { append, expectedIn, sizeOf } from "./append-work.ts";
import type { Core } from "./core.ts";
import {
  type Failure,
  invalidArgument,
  logFailed,
  maximumAppendSizeExceeded,
  missingMetadata,
  serverTimeout,
  streamDeleted,
} from "./failures.ts";
import { answerOnce } from "./faulty-call.ts";
import { guard } from "./guard.ts";
import { streams } from "./messages.ts";
import { type Proposed, revisionText } from "./record.ts";
import { readProposed, sharedEmpty, streamName } from "./wire.ts";

type Request = InstanceType<typeof streams.AppendReq>;
type Response = InstanceType<typeof streams.AppendResp>;

export const appendService =
  (core: Core) =>
  (call: ServerReadableStream<Request, Response>, callback: sendUnaryData<Response>): void => {
    let stream = "";
    let expected: Expected | undefined;
    const events: Proposed[] = [];
    let size = 0;
    let failure: Failure | undefined;

    call.on("data", (request: Request) => {
      const options = request.getOptions();
      if (options !== undefined) {
        stream = streamName(options.getStreamIdentifier());
        expected = expectedIn(options, options.getRevision());
        return;
      }
      const proposed = request.getProposedMessage();
      if (proposed === undefined) {
        failure ??= invalidArgument("a message of an append is neither its options nor an event");
        return;
      }
      const event = readProposed(proposed);
      if ("missing" in event) {
        failure ??= missingMetadata([event.missing]);
        return;
      }
      size += sizeOf(event, core.limits);
      if (size > core.limits.maxAppendSize) failure ??= maximumAppendSizeExceeded(core.limits.maxAppendSize);
      else if (failure === undefined) events.push(event);
    });

    // A client that breaks off in the middle has not asked for anything.
    call.on("end", () => {
      if (call.cancelled) return;
      if (stream === "" || expected === undefined)
        failure ??= invalidArgument("an append names a stream and what is expected of it");
      failure ??= guard(core, call.metadata, stream, "stream");
      const revision = expected ?? "any";
      answerOnce(core.faults.take("append", stream), callback, () =>
        failure === undefined ? answer(core, stream, revision, events) : Promise.resolve({ failure }),
      );
    });
  };

const answer = async (
  core: Core,
  stream: string,
  expected: Expected,
  events: readonly Proposed[],
): Promise<Response | { readonly failure: Failure }> => {
  const outcome = await append(core, stream, expected, events);
  switch (outcome._tag) {
    case "Written":
      return succeeded(outcome.last, outcome.position);
    case "Wrong":
      return wrong(expected, outcome.actual);
    case "Deleted":
      return { failure: streamDeleted(stream) };
    case "TimedOut":
      return { failure: serverTimeout() };
    case "LogFailed":
      return { failure: logFailed(outcome.reason) };
  }
};

const succeeded = (last: number, at: number | undefined): Response => {
  const success = new streams.AppendResp.Success();
  if (last === -1) success.setNoStream(sharedEmpty);
  else success.setCurrentRevision(revisionText(last));
  if (at === undefined) success.setNoPosition(sharedEmpty);
  else {
    const position = new streams.AppendResp.Position();
    position.setCommitPosition(String(at));
    position.setPreparePosition(String(at));
    success.setPosition(position);
  }
  const response = new streams.AppendResp();
  response.setSuccess(success);
  return response;
};

const wrong = (expected: Expected, actual: number): Response => {
  const message = new streams.AppendResp.WrongExpectedVersion();
  if (actual === -1) message.setCurrentNoStream(sharedEmpty);
  else message.setCurrentRevision(revisionText(actual));
  if (expected === "any") message.setExpectedAny(sharedEmpty);
  else if (expected === "no_stream") message.setExpectedNoStream(sharedEmpty);
  else if (expected === "stream_exists") message.setExpectedStreamExists(sharedEmpty);
  else message.setExpectedRevision(String(expected));
  const response = new streams.AppendResp();
  response.setWrongExpectedVersion(message);
  return response;
};
