/**
 * Streams.Read, as long as it is a read: what is there, forwards or backwards, and then the end. Subscriptions are another file's.
 *
 * Where a read begins is inclusive, but for `$all` backwards, which begins with what is before the position. A stream that is absent or soft-deleted is said to be so in a message, a tombstoned one in a status.
 */
import type { ServerWritableStream } from "@grpc/grpc-js";
import type { Core } from "./core.ts";
import type { Database } from "./database.ts";
import { type Failure, invalidPosition, streamDeleted } from "./failures.ts";
import { afterwards, pause, refusal } from "./faulty-call.ts";
import { type FilterMessage, filterOf, filterText, shownInAll } from "./filters.ts";
import { guard } from "./guard.ts";
import { streams } from "./messages.ts";
import { Outlet } from "./outlet.ts";
import {
  indexAt,
  type ReadOptions,
  type ReadRequest,
  type ReadResponse,
  uuidsIn,
  visibleRecord,
} from "./read-options.ts";
import type { LogRecord } from "./record.ts";
import { firstVisible, isSoftDeleted } from "./stream-state.ts";
import { subscribe } from "./subscriptions.ts";
import { readResponse, resolve, streamIdentifier, streamName } from "./wire.ts";

export const readService =
  (core: Core) =>
  (call: ServerWritableStream<ReadRequest, ReadResponse>): void => {
    const outlet = new Outlet<ReadResponse>(call);
    const options = call.request.getOptions()!;
    const stream = options.hasAll() ? "$all" : streamName(options.getStream()!.getStreamIdentifier());
    const denied = guard(core, call.metadata, stream, "stream");
    if (denied !== undefined) outlet.fail(denied);
    else if (options.hasSubscription()) subscribe(core, outlet, stream, options);
    else read(core, outlet, stream, options);
  };

const read = async (
  core: Core,
  outlet: Outlet<ReadResponse>,
  stream: string,
  options: ReadOptions,
): Promise<void> => {
  const fault = core.faults.take("read", stream);
  const refused = refusal(fault);
  if (refused !== undefined) return outlet.fail(refused);
  if (fault?.kind === "delay" || fault?.kind === "stall") await pause(fault.delayMs ?? 0);
  if (fault?.kind === "drop") return;
  const found = options.hasAll()
    ? recordsOfAll(core.database, options)
    : recordsOf(core.database, stream, options);
  if ("code" in found) return outlet.fail(found);
  if ("absent" in found) {
    outlet.send(notFound(found.absent));
    return outlet.end();
  }
  const links = options.getResolveLinks();
  const uuids = uuidsIn(options);
  const find = (of: string, revision: number) => visibleRecord(core.database, of, revision);
  for (const record of found.records) {
    while (!outlet.open && !outlet.over) await outlet.idle();
    if (outlet.over) return;
    outlet.send(readResponse(resolve(record, links, find), uuids));
  }
  const instead = afterwards(fault);
  if (instead !== undefined && instead !== "nothing") return outlet.fail(instead);
  outlet.end();
};

type Found = { readonly records: Iterable<LogRecord> } | { readonly absent: string } | Failure;

const recordsOf = (database: Database, stream: string, options: ReadOptions): Found => {
  const from = options.getStream()!;
  const forwards = options.getReadDirection() === 0;
  if (database.isTombstoned(stream)) return streamDeleted(stream);
  const state = database.stream(stream);
  const metadata = database.metadata(stream);
  if (state === undefined || state.visible === 0 || isSoftDeleted(metadata)) return { absent: stream };
  const last = state.visible - 1;
  const first = firstVisible(state, metadata, database.now());
  const start = from.hasStart()
    ? 0
    : from.hasEnd()
      ? forwards
        ? last + 1
        : last
      : Number(from.getRevision());
  const count = Number(options.getCount());
  return {
    records: forwards
      ? upwards(state.records, Math.max(start, first), last, count)
      : downwards(state.records, Math.min(start, last), first, count),
  };
};

function* upwards(records: readonly LogRecord[], from: number, last: number, count: number) {
  for (let index = from, left = count; index <= last && left > 0; index += 1, left -= 1)
    yield records[index]!;
}

function* downwards(records: readonly LogRecord[], from: number, first: number, count: number) {
  for (let index = from, left = count; index >= first && left > 0; index -= 1, left -= 1)
    yield records[index]!;
}

const recordsOfAll = (database: Database, options: ReadOptions): Found => {
  const from = options.getAll()!;
  const forwards = options.getReadDirection() === 0;
  const end = database.visible;
  const at = from.hasEnd()
    ? end
    : from.hasStart()
      ? 0
      : indexAt(database, from.getPosition()!.getCommitPosition());
  if (at === undefined) return invalidPosition();
  return { records: ofAll(database.all, forwards ? at : at - 1, end, forwards, options) };
};

function* ofAll(
  all: readonly LogRecord[],
  start: number,
  end: number,
  forwards: boolean,
  options: ReadOptions,
) {
  const filter = filterOf(filterText(options.getFilter() as FilterMessage | undefined));
  const step = forwards ? 1 : -1;
  let left = Number(options.getCount());
  for (let index = start; left > 0 && index >= 0 && index < end; index += step) {
    const record = all[index]!;
    if (!shownInAll(record) || !filter(record)) continue;
    yield record;
    left -= 1;
  }
}

const notFound = (stream: string): ReadResponse => {
  const message = new streams.ReadResp.StreamNotFound();
  message.setStreamIdentifier(streamIdentifier(stream));
  const response = new streams.ReadResp();
  response.setStreamNotFound(message);
  return response;
};
