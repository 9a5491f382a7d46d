/** The answers of BatchAppend. A failure is a status that carries one message of its kind, packed. */
import anyMessages from "google-protobuf/google/protobuf/any_pb.js";
import type { AppendAnswer } from "./append-work.ts";
import { shared, statuses, streams } from "./messages.ts";
import { revisionText } from "./record.ts";
import { googleEmpty, streamIdentifier } from "./wire.ts";

type Response = InstanceType<typeof streams.BatchAppendResp>;
type Uuid = InstanceType<typeof shared.UUID>;

export type BatchProblem =
  | Exclude<AppendAnswer, { _tag: "Written" }>
  | { readonly _tag: "TooLarge"; readonly limit: number }
  | { readonly _tag: "BadRequest"; readonly reason: string }
  | { readonly _tag: "AccessDenied" }
  | { readonly _tag: "Busy" };

export const batchSucceeded = (
  id: Uuid,
  stream: string,
  { last, position: at }: { readonly last: number; readonly position: number | undefined },
): Response => {
  const success = new streams.BatchAppendResp.Success();
  if (last === -1) success.setNoStream(googleEmpty);
  else success.setCurrentRevision(revisionText(last));
  if (at === undefined) success.setNoPosition(googleEmpty);
  else {
    const position = new shared.AllStreamPosition();
    position.setCommitPosition(String(at));
    position.setPreparePosition(String(at));
    success.setPosition(position);
  }
  const response = answerTo(id, stream);
  response.setSuccess(success);
  return response;
};

export const batchFailed = (id: Uuid, stream: string, problem: BatchProblem): Response => {
  const { code, message, name, bytes } = describe(stream, problem);
  const details = new anyMessages.Any();
  details.pack(bytes, `event_store.client.${name}`);
  const failure = new statuses.Status();
  failure.setCode(code);
  failure.setMessage(message);
  failure.setDetails(details);
  const response = answerTo(id, stream);
  response.setError(failure);
  return response;
};

const answerTo = (id: Uuid, stream: string): Response => {
  const response = new streams.BatchAppendResp();
  response.setCorrelationId(id);
  response.setStreamIdentifier(streamIdentifier(stream));
  return response;
};

interface Described {
  readonly code: 2 | 3 | 4 | 5 | 6 | 7;
  readonly message: string;
  readonly name: string;
  readonly bytes: Uint8Array;
}

const describe = (stream: string, problem: BatchProblem): Described => {
  switch (problem._tag) {
    case "Wrong": {
      const wrong = new shared.WrongExpectedVersion();
      if (problem.actual === -1) wrong.setCurrentNoStream(googleEmpty);
      else wrong.setCurrentStreamRevision(revisionText(problem.actual));
      return packed(6, "Wrong Expected Version", "WrongExpectedVersion", wrong);
    }
    case "Deleted": {
      const deleted = new shared.StreamDeleted();
      deleted.setStreamIdentifier(streamIdentifier(stream));
      return packed(5, "Stream Deleted", "StreamDeleted", deleted);
    }
    case "TimedOut":
      return packed(4, "Timeout", "Timeout", new shared.Timeout());
    case "TooLarge": {
      const exceeded = new shared.MaximumAppendSizeExceeded();
      exceeded.setMaxappendsize(problem.limit);
      return packed(3, "Maximum Append Size Exceeded", "MaximumAppendSizeExceeded", exceeded);
    }
    case "BadRequest": {
      const bad = new shared.BadRequest();
      bad.setMessage(problem.reason);
      return packed(3, problem.reason, "BadRequest", bad);
    }
    case "AccessDenied":
      return packed(7, "Access Denied", "AccessDenied", new shared.AccessDenied());
    case "Busy":
      return packed(2, "Server Is Busy", "ServerIsBusy", googleEmpty);
    case "LogFailed":
      return packed(2, problem.reason, "Unknown", new shared.Unknown());
  }
};

const packed = (
  code: Described["code"],
  message: string,
  name: string,
  body: { serializeBinary(): Uint8Array },
): Described => ({ code, message, name, bytes: body.serializeBinary() });
