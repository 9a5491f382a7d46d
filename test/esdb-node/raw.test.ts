/** What the official client never says, said by raw gRPC: the protocol's other forms, and requests that are not as they should be. */
import { randomUUID } from "node:crypto";
import { credentials, type ServiceError } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { Heard, later, open } from "./kit.ts";
import { empty, shared, streams, streamsService } from "./messages.ts";
import { readUuid, streamIdentifier, writeUuid } from "./wire.ts";

const rawClient = (port: number) => {
  const client = new streamsService.StreamsClient(`127.0.0.1:${port}`, credentials.createInsecure());
  later(async () => client.close());
  return client;
};

const message = (
  id: string,
  entries: Record<string, string> = { type: "A", "content-type": "application/json" },
) => {
  const proposed = new streams.BatchAppendReq.ProposedMessage();
  proposed.setId(writeUuid(id, "structured"));
  for (const [key, value] of Object.entries(entries)) proposed.getMetadataMap().set(key, value);
  proposed.setData(Buffer.from("{}"));
  return proposed;
};

const chunk = (
  correlation: string,
  options: { first?: string; final?: boolean; messages?: ReturnType<typeof message>[] },
) => {
  const request = new streams.BatchAppendReq();
  request.setCorrelationId(writeUuid(correlation, "structured"));
  if (options.first !== undefined) {
    const head = new streams.BatchAppendReq.Options();
    head.setStreamIdentifier(streamIdentifier(options.first));
    head.setAny(new empty.Empty());
    request.setOptions(head);
  }
  request.setProposedMessagesList(options.messages ?? []);
  request.setIsFinal(options.final ?? false);
  return request;
};

type BatchResponse = InstanceType<typeof streams.BatchAppendResp>;

const batch = async (options: Parameters<typeof open>[0] = {}) => {
  const scene = await open(options);
  const call = rawClient(scene.node.port).batchAppend();
  const heard = new Heard<BatchResponse>();
  call.on("data", heard.add);
  call.on("error", () => undefined);
  later(async () => call.cancel());
  return { ...scene, call, heard };
};

const detailsOf = (response: BatchResponse) => ({
  correlation: readUuid(response.getCorrelationId()),
  stream: Buffer.from(response.getStreamIdentifier()!.getStreamName_asU8()).toString(),
  code: response.getError()?.getCode(),
  type: response.getError()?.getDetails()?.getTypeName(),
});

test("chunks of different appends may be mixed; each answer bears its correlation id and stream", async () => {
  const { call, heard } = await batch();
  const [one, two] = [randomUUID(), randomUUID()];
  call.write(chunk(one, { first: "a", messages: [message(randomUUID())] }));
  call.write(chunk(two, { first: "b", messages: [message(randomUUID())], final: true }));
  call.write(chunk(one, { messages: [message(randomUUID())], final: true }));
  const answers = await heard.count(2);
  expect(answers.map(detailsOf)).toEqual([
    { correlation: two, stream: "b", code: undefined, type: undefined },
    { correlation: one, stream: "a", code: undefined, type: undefined },
  ]);
  expect(answers[1]!.getSuccess()!.getCurrentRevision()).toBe("1");
});

test("an event without a type is a bad request, answered once, and its later chunks are passed over", async () => {
  const { call, heard } = await batch();
  const [bad, good] = [randomUUID(), randomUUID()];
  call.write(chunk(bad, { first: "a", messages: [message(randomUUID(), {})] }));
  call.write(chunk(bad, { messages: [message(randomUUID())] }));
  call.write(chunk(bad, { messages: [message(randomUUID())], final: true }));
  call.write(chunk(good, { first: "a", messages: [message(randomUUID())], final: true }));
  const answers = await heard.count(2);
  expect(answers.map(detailsOf)).toEqual([
    { correlation: bad, stream: "a", code: 3, type: "event_store.client.BadRequest" },
    { correlation: good, stream: "a", code: undefined, type: undefined },
  ]);
  expect(answers[1]!.getSuccess()!.getCurrentRevision()).toBe("0");
});

test("a batch whose last chunk does not come in time is answered with a timeout", async () => {
  const { call, heard } = await batch({ commitTimeoutMs: 20 });
  const slow = randomUUID();
  call.write(chunk(slow, { first: "a", messages: [message(randomUUID())] }));
  const [answer] = await heard.count(1);
  expect(detailsOf(answer!)).toEqual({
    correlation: slow,
    stream: "a",
    code: 4,
    type: "event_store.client.Timeout",
  });
});

test("when the client ends the call, what is pending is answered first", async () => {
  const { call, heard } = await batch();
  const ended = new Promise<void>((resolve) => call.on("end", () => resolve()));
  call.write(chunk(randomUUID(), { first: "a", messages: [message(randomUUID())], final: true }));
  call.end();
  await ended;
  expect(heard.all).toHaveLength(1);
});

const appending = async (
  send: (write: (request: InstanceType<typeof streams.AppendReq>) => void) => void,
) => {
  const { node, client } = await open();
  const failure = await new Promise<ServiceError | null>((resolve) => {
    const call = rawClient(node.port).append((error) => resolve(error));
    send((request) => void call.write(request));
    call.end();
  });
  return { failure: failure!, client, node };
};

const appendOptions = (stream: string) => {
  const options = new streams.AppendReq.Options();
  options.setStreamIdentifier(streamIdentifier(stream));
  options.setAny(new shared.Empty());
  const request = new streams.AppendReq();
  request.setOptions(options);
  return request;
};

test("an event without its properties is refused with their names in the trailers", async () => {
  const { failure, node } = await appending((write) => {
    write(appendOptions("s"));
    const proposed = new streams.AppendReq.ProposedMessage();
    proposed.setId(writeUuid(randomUUID(), "string"));
    const request = new streams.AppendReq();
    request.setProposedMessage(proposed);
    write(request);
  });
  expect(failure.code).toBe(3);
  expect(failure.metadata.getMap()).toMatchObject({
    exception: "missing-required-metadata-property",
    "required-metadata-properties": "type,content-type",
  });
  expect(node.counts.appends).toBe(0);
});

test("requests without their parts are refused, and the node goes on", async () => {
  const { node, client } = await open();
  const raw = rawClient(node.port);
  const heard = new Heard<ServiceError>();
  raw.read(new streams.ReadReq()).on("error", heard.add).resume();
  const [failure] = await heard.count(1);
  expect(failure!.code).toBe(3);
  const deleted = await new Promise<ServiceError | null>((resolve) =>
    raw.delete(new streams.DeleteReq(), (error) => resolve(error)),
  );
  expect(deleted!.code).toBe(3);
  const appended = await new Promise<ServiceError | null>((resolve) => {
    const call = raw.append((error) => resolve(error));
    call.write(appendOptions("s"));
    call.write(new streams.AppendReq());
    call.end();
  });
  expect(appended!.code).toBe(3);
  expect((await client.getStreamMetadata("s")).metadata).toBeUndefined();
});

test("an append that names no stream is an invalid argument", async () => {
  const { failure } = await appending(() => undefined);
  expect(failure.code).toBe(3);
});

test("ids come back as two numbers where they are not asked for as text", async () => {
  const { node, client } = await open();
  const id = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
  await client.appendToStream("s", {
    id,
    type: "A",
    contentType: "application/json",
    data: {},
    metadata: undefined,
  });
  const options = new streams.ReadReq.Options();
  const from = new streams.ReadReq.Options.StreamOptions();
  from.setStreamIdentifier(streamIdentifier("s"));
  from.setStart(new shared.Empty());
  options.setStream(from);
  options.setCount("1");
  options.setNoFilter(new shared.Empty());
  const structured = new streams.ReadReq.Options.UUIDOption();
  structured.setStructured(new shared.Empty());
  options.setUuidOption(structured);
  const request = new streams.ReadReq();
  request.setOptions(options);
  const heard = new Heard<InstanceType<typeof streams.ReadResp>>();
  rawClient(node.port).read(request).on("data", heard.add);
  const [answer] = await heard.count(1);
  const uuid = answer!.getEvent()!.getEvent()!.getId()!;
  expect(uuid.getStructured()!.getMostSignificantBits()).toBe("-568210367123287600");
  expect(readUuid(uuid)).toBe(id);
});
