/**
 * Streams.Read as a catch-up subscription, to a stream or to `$all`: what is there, `caught_up`, and then what comes.
 *
 * Where a subscription begins is exclusive. Catching up and live are one walk over the records, so there is no seam between them.
 *
 * - C1 Frames: one `confirmation`, events, with a filter one `checkpoint` at the end of the history, `caught_up`, then events, and with
 *   a filter a checkpoint after every window × multiplier records considered. Without a filter no checkpoints.
 * - C2 A client that does not read holds up its own walk and nobody else's.
 */
import { randomUUID } from "node:crypto";
import type { Core } from "./core.ts";
import { invalidArgument, invalidPosition, streamDeleted } from "./failures.ts";
import type { Fault } from "./faults.ts";
import { afterwards, pause, refusal } from "./faulty-call.ts";
import { type Filter, type FilterMessage, filterOf, filterText, shownInAll } from "./filters.ts";
import { streams } from "./messages.ts";
import type { Outlet } from "./outlet.ts";
import { indexAt, type ReadOptions, type ReadResponse, uuidsIn, visibleRecord } from "./read-options.ts";
import type { LogRecord } from "./record.ts";
import { firstVisible, isSoftDeleted } from "./stream-state.ts";
import { MINUS_ONE, readResponse, resolve } from "./wire.ts";

/** The records that a subscription walks over, one after the other. */
interface Walk {
  /** Undefined at the end; `matches` is whether the subscriber wants it. */
  next(): { readonly record: LogRecord; readonly matches: boolean } | undefined;
  /** Calls `changed` when there is more. */
  watch(changed: () => void): () => void;
  /** The stream is gone for good. */
  gone(): boolean;
  /** Records between two checkpoints; undefined where there are none. */
  readonly interval: number | undefined;
}

/** Records looked at in one turn without sending any. */
const TURN = 4096;

export const subscribe = async (
  core: Core,
  outlet: Outlet<ReadResponse>,
  stream: string,
  options: ReadOptions,
): Promise<void> => {
  const fault = core.faults.take("subscribe", stream);
  const refused = refusal(fault);
  if (refused !== undefined) return outlet.fail(refused);
  if (fault?.kind === "delay" || fault?.kind === "stall") await pause(fault.delayMs ?? 0);
  const walk = options.hasAll() ? walkOverAll(core, options) : walkOverStream(core, stream, options);
  if ("code" in walk) return outlet.fail(walk);
  outlet.onOver(walk.watch(() => outlet.wake()));
  if (fault?.kind === "drop") return;
  outlet.send(confirmation());
  await follow(core, outlet, options, walk, fault);
  if (walk.gone()) outlet.fail(streamDeleted(stream));
};

const follow = async (
  core: Core,
  outlet: Outlet<ReadResponse>,
  options: ReadOptions,
  walk: Walk,
  fault: Fault | undefined,
): Promise<void> => {
  const uuids = uuidsIn(options);
  const links = options.getResolveLinks();
  const find = (of: string, revision: number) => visibleRecord(core.database, of, revision);
  const { switches } = core.faults;
  let considered = 0;
  let matched = false;
  let looked: LogRecord | undefined;
  let caughtUp = false;
  let poisoned = false;
  let liveEvents = 0;
  let turn = 0;

  const checkpoint = (): void => {
    considered = 0;
    if (!poisoned && looked !== undefined) outlet.send(checkpointAt(String(looked.position)));
  };

  while (!outlet.over) {
    if (!outlet.open) {
      await outlet.idle();
      continue;
    }
    const step = walk.next();
    if (step === undefined) {
      if (walk.gone()) return;
      if (!caughtUp) {
        caughtUp = true;
        if (walk.interval !== undefined) {
          poisoned = switches.poisonCheckpoint && !matched;
          if (poisoned) outlet.send(checkpointAt(MINUS_ONE));
          else checkpoint();
        }
        outlet.send(saidCaughtUp());
        const broken = afterwards(fault);
        if (broken !== undefined && broken !== "nothing") return outlet.fail(broken);
      }
      await outlet.idle();
      continue;
    }
    looked = step.record;
    considered += 1;
    if (step.matches) {
      matched = true;
      const response = readResponse(resolve(step.record, links, find), uuids);
      outlet.send(response);
      if (fault?.kind === "duplicate") outlet.send(response);
      if (caughtUp) liveEvents += 1;
    }
    if (walk.interval !== undefined && considered >= walk.interval) checkpoint();
    if (switches.caughtUpAgainAfter > 0 && liveEvents >= switches.caughtUpAgainAfter) {
      liveEvents = 0;
      if (walk.interval !== undefined) checkpoint();
      outlet.send(saidCaughtUp());
    }
    turn += 1;
    if (turn % TURN === 0) await new Promise(setImmediate);
  }
};

const walkOverAll = (core: Core, options: ReadOptions): Walk | ReturnType<typeof invalidPosition> => {
  const { database } = core;
  const from = options.getAll()!;
  const message = options.getFilter();
  let filter: Filter;
  try {
    filter = filterOf(filterText(message as FilterMessage | undefined));
  } catch (cause) {
    return invalidArgument(String(cause));
  }
  let index = 0;
  if (from.hasEnd()) index = database.visible;
  else if (!from.hasStart()) {
    const at = indexAt(database, from.getPosition()!.getCommitPosition());
    if (at === undefined) return invalidPosition();
    index = Math.min(at + 1, database.visible);
  }
  return {
    next: () => {
      while (index < database.visible) {
        const record = database.all[index]!;
        index += 1;
        if (shownInAll(record)) return { record, matches: filter(record) };
      }
      return undefined;
    },
    watch: (changed) => database.watch(undefined, changed),
    gone: () => false,
    interval:
      message === undefined
        ? undefined
        : windowOf(message.getMax()) * Math.max(1, message.getCheckpointintervalmultiplier()),
  };
};

/** A client that names no window gets the size of a server's page. */
const windowOf = (max: number): number => (max > 0 ? max : 32);

const walkOverStream = (
  core: Core,
  stream: string,
  options: ReadOptions,
): Walk | ReturnType<typeof streamDeleted> => {
  const { database } = core;
  const from = options.getStream()!;
  if (database.isTombstoned(stream)) return streamDeleted(stream);
  const visible = () => database.stream(stream)?.visible ?? 0;
  let revision = from.hasStart() ? 0 : from.hasEnd() ? visible() : Number(from.getRevision()) + 1;
  return {
    next: () => {
      const state = database.stream(stream);
      if (state === undefined || revision >= state.visible || state.tombstoned) return undefined;
      const metadata = database.metadata(stream);
      if (isSoftDeleted(metadata)) return undefined;
      revision = Math.max(revision, firstVisible(state, metadata, database.now()));
      if (revision >= state.visible) return undefined;
      const record = state.records[revision]!;
      revision += 1;
      return { record, matches: true };
    },
    watch: (changed) => database.watch(stream, changed),
    gone: () => database.isTombstoned(stream),
    interval: undefined,
  };
};

const confirmation = (): ReadResponse => {
  const message = new streams.ReadResp.SubscriptionConfirmation();
  message.setSubscriptionId(randomUUID());
  const response = new streams.ReadResp();
  response.setConfirmation(message);
  return response;
};

const checkpointAt = (position: string): ReadResponse => {
  const message = new streams.ReadResp.Checkpoint();
  message.setCommitPosition(position);
  message.setPreparePosition(position);
  const response = new streams.ReadResp();
  response.setCheckpoint(message);
  return response;
};

const saidCaughtUp = (): ReadResponse => {
  const response = new streams.ReadResp();
  response.setCaughtUp(new streams.ReadResp.CaughtUp());
  return response;
};
