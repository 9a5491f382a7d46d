/**
 * The facts of a run of the Workflow SDK, as they stand in the run's own stream (docs/adr/0015-workflow-sdk-world.md).
 *
 * The names are the SDK's own with `Sdk` before them: `step_completed` is stored as `SdkStepCompleted`. The data is the SDK's envelope:
 * its event id, its instants in epoch milliseconds, `eventData` as readable JSON, and the one payload that is the SDK's business alone
 * as `bytes`: text where it is text, base64 where it is compressed or encrypted.
 *
 * Not here: what the facts mean (src/integrations/workflow-sdk). The engine does not run such a run and never folds these.
 */
import * as t from "io-ts";
import { type EventSchema, Finite, storedData } from "./event-schema.ts";
import type { Payload } from "./payload.ts";

/** Bytes that only the SDK reads, such as a step's result. */
export type SdkBytes = { readonly text: string } | { readonly base64: string };

/** Each event type of the SDK, and the field of its `eventData` that may hold bytes. */
export const SDK_PAYLOAD_FIELDS = {
  run_created: "input",
  run_started: "input",
  run_completed: "output",
  run_failed: "error",
  run_cancelled: undefined,
  attr_set: undefined,
  step_created: "input",
  step_started: "input",
  step_completed: "result",
  step_failed: "error",
  step_retrying: "error",
  hook_created: "metadata",
  hook_received: "payload",
  hook_disposed: undefined,
  hook_conflict: undefined,
  wait_created: undefined,
  wait_completed: undefined,
} as const satisfies Record<string, string | undefined>;

/** An event type as the SDK writes it. */
export type SdkEventName = keyof typeof SDK_PAYLOAD_FIELDS;

type Pascal<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Capitalize<Head>}${Pascal<Tail>}`
  : Capitalize<S>;

/** An event type as a stream holds it. */
export type SdkEventType = `Sdk${Pascal<SdkEventName>}`;

/** One fact of a run of the Workflow SDK. */
export interface SdkEvent {
  readonly type: SdkEventType;
  readonly data: {
    /** The SDK's own id of the event. */
    readonly eventId: string;
    readonly createdAt: number;
    /** When it happened by the writer's clock. */
    readonly occurredAt?: number;
    /** The step, hook or wait that it is about. */
    readonly correlationId?: string;
    readonly specVersion?: number;
    readonly eventData?: Payload;
    readonly bytes?: SdkBytes;
  };
}

const typeOf = (name: string): string =>
  `Sdk${name
    .split("_")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("")}`;

const NAMES = Object.keys(SDK_PAYLOAD_FIELDS) as SdkEventName[];
const TYPE_BY_NAME = new Map(NAMES.map((name) => [name, typeOf(name) as SdkEventType]));
const NAME_BY_TYPE = new Map<string, SdkEventName>(NAMES.map((name) => [typeOf(name), name]));

/** The type under which an event of the SDK is stored. */
export const sdkTypeOf = (name: SdkEventName): SdkEventType => TYPE_BY_NAME.get(name) as SdkEventType;

/** The SDK's name of a stored type; `undefined` for a type that is not one of these. */
export const sdkNameOf = (type: string): SdkEventName | undefined => NAME_BY_TYPE.get(type);

/** Is it an event of a run of the Workflow SDK? */
export const isSdkEvent = <E extends { readonly type: string }>(
  event: E,
): event is E & { readonly type: SdkEventType } => NAME_BY_TYPE.has(event.type);

const schema: EventSchema = {
  version: 1,
  payload: "eventData",
  stored: storedData(
    { eventId: t.string, createdAt: Finite },
    {
      occurredAt: Finite,
      correlationId: t.string,
      specVersion: Finite,
      eventData: t.unknown,
      bytes: t.union([t.exact(t.type({ text: t.string })), t.exact(t.type({ base64: t.string }))]),
    },
  ),
};

/** Every event type of an SDK run's stream, as the codec needs it. */
export const SDK_RUN_EVENTS: Readonly<Record<string, EventSchema>> = Object.fromEntries(
  NAMES.map((name) => [typeOf(name), schema]),
);
