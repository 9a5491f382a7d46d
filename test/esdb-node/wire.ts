/** Between the node's records and the protocol's messages. 64-bit numbers are decimal text there; -1 is 2^64-1. */
import { empty, shared, streams } from "./messages.ts";
import { LINK_TYPE, type LogRecord, type Proposed, revisionText } from "./record.ts";

export const MINUS_ONE = "18446744073709551615";

export type Uuids = "string" | "structured";

export const sharedEmpty = new shared.Empty();
export const googleEmpty = new empty.Empty();

export const streamName = (identifier: InstanceType<typeof shared.StreamIdentifier> | undefined): string =>
  identifier === undefined ? "" : Buffer.from(identifier.getStreamName_asU8()).toString("utf8");

export const streamIdentifier = (name: string): InstanceType<typeof shared.StreamIdentifier> => {
  const identifier = new shared.StreamIdentifier();
  identifier.setStreamName(Buffer.from(name, "utf8"));
  return identifier;
};

const TOP_BIT = 1n << 63n;
const hex64 = (text: string): string => BigInt.asUintN(64, BigInt(text)).toString(16).padStart(16, "0");
const int64 = (hex: string): string => {
  const value = BigInt(`0x${hex}`);
  return String(value >= TOP_BIT ? value - 2n * TOP_BIT : value);
};

/** Undefined when it is absent or no UUID. */
export const readUuid = (uuid: InstanceType<typeof shared.UUID> | undefined): string | undefined => {
  const structured = uuid?.getStructured();
  if (structured === undefined) {
    const text = uuid?.getString().toLowerCase();
    return text !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) ? text : undefined;
  }
  const hex = hex64(structured.getMostSignificantBits()) + hex64(structured.getLeastSignificantBits());
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
};

export const writeUuid = (id: string, form: Uuids): InstanceType<typeof shared.UUID> => {
  const uuid = new shared.UUID();
  if (form === "string") {
    uuid.setString(id);
    return uuid;
  }
  const hex = id.replaceAll("-", "");
  const structured = new shared.UUID.Structured();
  structured.setMostSignificantBits(int64(hex.slice(0, 16)));
  structured.setLeastSignificantBits(int64(hex.slice(16)));
  uuid.setStructured(structured);
  return uuid;
};

interface ProposedMessage {
  getId(): InstanceType<typeof shared.UUID> | undefined;
  getMetadataMap(): { get(key: string): string | undefined };
  getData_asU8(): Uint8Array;
  getCustomMetadata_asU8(): Uint8Array;
}

/** The event in `message`, or what it lacks. */
export const readProposed = (message: ProposedMessage): Proposed | { readonly missing: string } => {
  const id = readUuid(message.getId());
  const type = message.getMetadataMap().get("type");
  const contentType = message.getMetadataMap().get("content-type");
  if (id === undefined) return { missing: "id" };
  if (type === undefined) return { missing: "type" };
  if (contentType === undefined) return { missing: "content-type" };
  return {
    id,
    type,
    isJson: contentType === "application/json",
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  };
};

/** What both protocols' recorded events have in common. */
interface RecordedMessage {
  setId(id: InstanceType<typeof shared.UUID>): unknown;
  setStreamIdentifier(identifier: InstanceType<typeof shared.StreamIdentifier>): unknown;
  setStreamRevision(revision: string): unknown;
  setCommitPosition(position: string): unknown;
  setPreparePosition(position: string): unknown;
  setData(data: Uint8Array): unknown;
  setCustomMetadata(metadata: Uint8Array): unknown;
  getMetadataMap(): { set(key: string, value: string): unknown };
}

const TICKS_PER_MS = 10_000n;

export const fillRecorded = <Message extends RecordedMessage>(
  message: Message,
  record: LogRecord,
  uuids: Uuids,
): Message => {
  message.setId(writeUuid(record.id, uuids));
  message.setStreamIdentifier(streamIdentifier(record.stream));
  message.setStreamRevision(revisionText(record.revision));
  message.setCommitPosition(String(record.position));
  message.setPreparePosition(String(record.position));
  message.setData(record.data);
  message.setCustomMetadata(record.metadata);
  const map = message.getMetadataMap();
  map.set("type", record.type);
  map.set("content-type", record.isJson ? "application/json" : "application/octet-stream");
  map.set("created", String(BigInt(record.at) * TICKS_PER_MS));
  return message;
};

/** A record as a reader gets it: where links are resolved, `link` is the record that was read and `event` what it leads to, if that is there. */
export interface Resolved {
  readonly event: LogRecord | undefined;
  readonly link: LogRecord | undefined;
}

/** The record that was read. */
export const outer = ({ event, link }: Resolved): LogRecord => (link ?? event)!;

const LINK = /^(\d{1,15})@([\s\S]+)$/;

export const resolve = (
  record: LogRecord,
  links: boolean,
  find: (stream: string, revision: number) => LogRecord | undefined,
): Resolved => {
  if (!links || record.type !== LINK_TYPE) return { event: record, link: undefined };
  const parts = LINK.exec(Buffer.from(record.data).toString("utf8"));
  return { event: parts === null ? undefined : find(parts[2]!, Number(parts[1])), link: record };
};

export const readResponse = (resolved: Resolved, uuids: Uuids): InstanceType<typeof streams.ReadResp> => {
  const { ReadEvent } = streams.ReadResp;
  const message = new ReadEvent();
  if (resolved.event !== undefined)
    message.setEvent(fillRecorded(new ReadEvent.RecordedEvent(), resolved.event, uuids));
  if (resolved.link !== undefined)
    message.setLink(fillRecorded(new ReadEvent.RecordedEvent(), resolved.link, uuids));
  message.setCommitPosition(String(outer(resolved).position));
  const response = new streams.ReadResp();
  response.setEvent(message);
  return response;
};
