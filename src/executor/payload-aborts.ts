/**
 * Abort signals and controllers in a payload. A signal of a workflow has a stream, which says in whatever process a step runs that it
 * was aborted, and a hook, which says so to the workflow.
 *
 * Invariants:
 * - A1 A step that aborts has its `hook_received` written before its own outcome: whoever walks on from the outcome knows of it.
 * - A2 The reader that waits for an abort elsewhere ends with the body.
 */
import { ulid } from "ulid";
import type { LiveScope } from "./payload-scope.ts";
import type { ChunkCodec } from "./payload-streams.ts";
import type { PayloadType } from "./payload-values.ts";
import { SPEC_VERSION } from "./spec-version.ts";

const STREAM_NAME = Symbol.for("WORKFLOW_ABORT_STREAM_NAME");
const HOOK_TOKEN = Symbol.for("WORKFLOW_ABORT_HOOK_TOKEN");

interface WrittenSignal {
  readonly streamName: string;
  readonly hookToken: string;
  readonly aborted: boolean;
  readonly reason?: unknown;
}

interface Abortion {
  readonly aborted: boolean;
  readonly reason?: unknown;
}

const stamp = (target: object, streamName: string, hookToken: string): void => {
  Object.defineProperties(target, {
    [STREAM_NAME]: { value: streamName, configurable: true },
    [HOOK_TOKEN]: { value: hookToken, configurable: true },
  });
};

const stamps = (target: object): { streamName: string; hookToken: string } | undefined => {
  const { [STREAM_NAME]: streamName, [HOOK_TOKEN]: hookToken } = target as Record<symbol, string | undefined>;
  return streamName === undefined || hookToken === undefined ? undefined : { streamName, hookToken };
};

/** Other readers of this format take the announcement as it is, and would lose the reason of an encrypted one. */
const inPlain = async (): Promise<undefined> => undefined;

/** Says to every reader of the signal's stream that it is aborted. */
const announce = async (
  scope: LiveScope,
  codec: ChunkCodec,
  streamName: string,
  reason: unknown,
): Promise<void> => {
  await scope.ready;
  await scope.world.streams.write(
    scope.runId,
    streamName,
    await codec.write({ aborted: true, reason }, inPlain),
  );
  await scope.world.streams.close(scope.runId, streamName);
};

/** Says to the workflow that the signal is aborted. */
const record = async (scope: LiveScope, codec: ChunkCodec, token: string, reason: unknown): Promise<void> => {
  await scope.ready;
  const { hookId } = await scope.world.hooks.getByToken(token);
  await scope.world.events.create(scope.runId, {
    eventType: "hook_received",
    specVersion: SPEC_VERSION,
    correlationId: hookId,
    eventData: { token, payload: await codec.write({ aborted: true, reason }, scope.key) },
  });
};

/** Aborts the controller when its stream says so. Trouble with the stream is no reason to abort: the body just goes on. */
const follow = (
  scope: LiveScope,
  codec: ChunkCodec,
  streamName: string,
  abort: (reason: unknown) => void,
): void => {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  let over = false;
  const watch = async (): Promise<void> => {
    await scope.ready;
    reader = (await scope.world.streams.get(scope.runId, streamName)).getReader();
    if (over) return reader.cancel();
    const { value } = await reader.read();
    if (over || value === undefined) return;
    const { aborted, reason } = (await codec.read(value, scope.key)) as Abortion;
    if (aborted) abort(reason);
    await reader.cancel();
  };
  watch().catch(() => undefined);
  scope.teardown.push(() => {
    over = true;
    reader?.cancel().catch(() => undefined);
  });
};

const readController = (scope: LiveScope, codec: ChunkCodec, written: WrittenSignal): AbortController => {
  const { streamName, hookToken, aborted, reason } = written;
  const controller = new AbortController();
  stamp(controller, streamName, hookToken);
  stamp(controller.signal, streamName, hookToken);
  const abort = controller.abort.bind(controller);
  if (aborted) {
    abort(reason);
    return controller;
  }
  follow(scope, codec, streamName, abort);
  controller.abort = (why) => {
    if (controller.signal.aborted) return;
    abort(why);
    scope.preCompletionOps.push(record(scope, codec, hookToken, controller.signal.reason));
    scope.ops.push(announce(scope, codec, streamName, controller.signal.reason));
  };
  return controller;
};

/** A signal that a step made has nobody waiting for it yet; it gets its names now. */
const namesOf = (scope: LiveScope, codec: ChunkCodec, target: object, signal: AbortSignal) => {
  const known = stamps(target) ?? stamps(signal);
  if (known !== undefined) return known;
  const id = ulid();
  const names = { streamName: `strm_${id}_system_abort`, hookToken: `abrt_${id}` };
  stamp(target, names.streamName, names.hookToken);
  stamp(signal, names.streamName, names.hookToken);
  if (!signal.aborted) {
    signal.addEventListener(
      "abort",
      () => scope.ops.push(announce(scope, codec, names.streamName, signal.reason)),
      { once: true },
    );
  }
  return names;
};

const written = (
  scope: LiveScope,
  codec: ChunkCodec,
  target: object,
  signal: AbortSignal,
): WrittenSignal => ({
  ...namesOf(scope, codec, target, signal),
  aborted: signal.aborted,
  reason: signal.aborted ? signal.reason : undefined,
});

/** The types of aborting, for the values of one attempt. */
export const payloadAborts = (scope: LiveScope, codec: ChunkCodec): Record<string, PayloadType> => ({
  AbortController: {
    write: (value) =>
      value instanceof AbortController ? written(scope, codec, value, value.signal) : undefined,
    read: (fields: WrittenSignal) => readController(scope, codec, fields),
  },
  AbortSignal: {
    write: (value) => (value instanceof AbortSignal ? written(scope, codec, value, value) : undefined),
    read: (fields: WrittenSignal) => readController(scope, codec, fields).signal,
  },
});
