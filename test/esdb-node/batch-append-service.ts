/**
 * Streams.BatchAppend: many appends over one call, each in one or more chunks that bear its correlation id.
 *
 * - B1 One answer for a correlation id, and never a second one: it would kill the client (unless a fault asks for it).
 * - B2 Once an append is answered, what else comes of it is passed over.
 * - B3 What ends the whole call, and all that is pending in it: that this node is not the leader or is gone, and credentials that are wrong.
 */
import { type ServerDuplexStream, status } from "@grpc/grpc-js";
import type { Expected } from "./append-rules.ts";
import { append, expectedIn, sizeOf } from "./append-work.ts";
import { type BatchProblem, batchFailed, batchSucceeded } from "./batch-answers.ts";
import type { Core } from "./core.ts";
import { notLeader, serverGone } from "./failures.ts";
import type { Fault } from "./faults.ts";
import { pause } from "./faulty-call.ts";
import { guard } from "./guard.ts";
import type { shared, streams } from "./messages.ts";
import { Outlet } from "./outlet.ts";
import type { Proposed } from "./record.ts";
import { readProposed, readUuid, streamName } from "./wire.ts";

type Request = InstanceType<typeof streams.BatchAppendReq>;
type Response = InstanceType<typeof streams.BatchAppendResp>;

interface Pending {
  readonly id: InstanceType<typeof shared.UUID>;
  readonly stream: string;
  readonly expected: Expected;
  readonly events: Proposed[];
  size: number;
  readonly timer: NodeJS.Timeout | undefined;
  answered: boolean;
}

export const batchAppendService =
  (core: Core) =>
  (call: ServerDuplexStream<Request, Response>): void => {
    const outlet = new Outlet<Response>(call);
    const gathering = new Map<string, Pending>();
    let working = 0;
    let finished = false;

    const close = () => {
      if (finished && working === 0) outlet.end();
    };

    const refuse = (pending: Pending, problem: BatchProblem) => {
      if (pending.answered) return;
      pending.answered = true;
      clearTimeout(pending.timer);
      outlet.send(batchFailed(pending.id, pending.stream, problem));
    };

    const begin = (request: Request, key: string): Pending | undefined => {
      const options = request.getOptions();
      if (options === undefined) return undefined;
      const timestamp = options.getDeadline();
      const left =
        timestamp === undefined
          ? Number.POSITIVE_INFINITY
          : timestamp.getSeconds() * 1000 + timestamp.getNanos() / 1e6 - core.database.now();
      const allowed = Math.min(left, core.limits.commitTimeoutMs);
      const whole = request.getIsFinal();
      const pending: Pending = {
        id: request.getCorrelationId()!,
        stream: streamName(options.getStreamIdentifier()),
        expected: expectedIn(options, options.getStreamPosition()),
        events: [],
        size: 0,
        timer: whole || allowed <= 0 ? undefined : setTimeout(() => refuse(pending, TIMEOUT), allowed),
        answered: false,
      };
      if (!whole) gathering.set(key, pending);
      if (allowed <= 0) refuse(pending, TIMEOUT);
      return pending;
    };

    const gather = (request: Request, pending: Pending): void => {
      for (const message of request.getProposedMessagesList()) {
        const event = readProposed(message);
        if ("missing" in event)
          return refuse(pending, { _tag: "BadRequest", reason: `an event has no ${event.missing}` });
        pending.size += sizeOf(event, core.limits);
        if (pending.size > core.limits.maxAppendSize)
          return refuse(pending, { _tag: "TooLarge", limit: core.limits.maxAppendSize });
        pending.events.push(event);
      }
    };

    const perform = async (pending: Pending): Promise<void> => {
      const denied = guard(core, call.metadata, pending.stream, "stream");
      if (denied?.code === status.PERMISSION_DENIED) return refuse(pending, { _tag: "AccessDenied" });
      if (denied !== undefined) return outlet.fail(denied);
      const fault = core.faults.take("batchAppend", pending.stream);
      if (fault?.kind === "notLeader")
        return outlet.fail(notLeader(fault.leader ?? { host: "127.0.0.1", port: 1 }));
      if (fault?.kind === "cancelled" || fault?.kind === "unavailable")
        return outlet.fail(serverGone(fault.kind));
      if (fault?.kind === "timeoutBefore") return refuse(pending, TIMEOUT);
      if (fault?.kind === "busy") return refuse(pending, { _tag: "Busy" });
      if (fault?.kind === "stall") await pause(fault.delayMs ?? 0);
      const outcome = await append(core, pending.stream, pending.expected, pending.events);
      if (fault?.kind === "delay") await pause(fault.delayMs ?? 0);
      if (fault !== undefined && strikeAfter(fault, pending)) return;
      pending.answered = true;
      const response =
        outcome._tag === "Written"
          ? batchSucceeded(pending.id, pending.stream, outcome)
          : batchFailed(pending.id, pending.stream, outcome);
      outlet.send(response);
      if (fault?.kind === "duplicate") outlet.send(response);
    };

    /** Answers whether the fault has taken the answer's place. */
    const strikeAfter = (fault: Fault, pending: Pending): boolean => {
      if (fault.kind === "timeoutAfter") refuse(pending, TIMEOUT);
      else if (fault.kind === "cancelledAfter") outlet.fail(serverGone("cancelled"));
      else if (fault.kind === "unavailableAfter") outlet.fail(serverGone("unavailable"));
      else return fault.kind === "drop";
      return true;
    };

    call.on("data", (request: Request) => {
      const key = readUuid(request.getCorrelationId());
      if (key === undefined) return;
      const pending = gathering.get(key) ?? begin(request, key);
      if (pending === undefined) return;
      if (!pending.answered) gather(request, pending);
      if (!request.getIsFinal()) return;
      gathering.delete(key);
      clearTimeout(pending.timer);
      if (pending.answered) return;
      working += 1;
      perform(pending).finally(() => {
        working -= 1;
        close();
      });
    });
    call.on("end", () => {
      finished = true;
      close();
    });
    outlet.onOver(() => {
      for (const { timer } of gathering.values()) clearTimeout(timer);
      gathering.clear();
    });
  };

const TIMEOUT: BatchProblem = { _tag: "TimedOut" };
