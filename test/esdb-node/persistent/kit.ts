/** A group to try, and members of it that keep what they are handed. */
import {
  type EventStoreDBClient,
  type PersistentSubscriptionToAll,
  type PersistentSubscriptionToAllResolvedEvent,
  type PersistentSubscriptionToStream,
  type PersistentSubscriptionToStreamSettings,
  persistentSubscriptionToAllSettingsFromDefaults,
  persistentSubscriptionToStreamSettingsFromDefaults,
  streamNameFilter,
} from "@eventstore/db-client";
import { Heard, later } from "../kit.ts";

type Settings = Partial<Omit<PersistentSubscriptionToStreamSettings, "startFrom">>;

/** A group `g` of the stream `s`, from its start. */
export const groupOfStream = (client: EventStoreDBClient, settings: Settings = {}): Promise<void> =>
  client.createPersistentSubscriptionToStream(
    "s",
    "g",
    persistentSubscriptionToStreamSettingsFromDefaults({ startFrom: "start", ...settings }),
  );

/** A group `g` of all streams whose names start with `run-`, from the start. */
export const groupOfRuns = (client: EventStoreDBClient, settings: Settings = {}): Promise<void> =>
  client.createPersistentSubscriptionToAll(
    "g",
    persistentSubscriptionToAllSettingsFromDefaults({ startFrom: "start", ...settings }),
    { filter: streamNameFilter({ prefixes: ["run-"] }) },
  );

export type Handed = PersistentSubscriptionToAllResolvedEvent;
type Action = "ack" | "keep" | "retry" | "park" | "skip" | "stop";

export interface TestMember {
  readonly heard: Heard<Handed>;
  readonly errors: Heard<string>;
  readonly subscription: PersistentSubscriptionToAll | PersistentSubscriptionToStream;
  /** What was handed out, as `stream/revision` and, if it is not the first time, `#retries`. */
  said(): string[];
}

/** A member of the group `g` of the stream `s`, or of the one of the runs, that answers each message as `answer` says (default `"ack"`). */
export const join = (
  client: EventStoreDBClient,
  of: "stream" | "runs",
  {
    bufferSize = 10,
    answer = () => "ack",
  }: { bufferSize?: number; answer?: (handed: Handed) => Action } = {},
): TestMember => {
  const subscription =
    of === "stream"
      ? client.subscribeToPersistentSubscriptionToStream("s", "g", { bufferSize })
      : client.subscribeToPersistentSubscriptionToAll("g", { bufferSize });
  const heard = new Heard<Handed>();
  const errors = new Heard<string>();
  subscription.on("error", (error) => errors.add((error as unknown as { type: string }).type));
  subscription.on("data", (handed) => {
    const action = answer(handed as Handed);
    if (action === "ack") subscription.ack(handed);
    else if (action !== "keep") subscription.nack(action, "as told", handed);
    heard.add(handed as Handed);
  });
  later(() => subscription.unsubscribe());
  return {
    heard,
    errors,
    subscription,
    said: () => heard.all.map(spoken),
  };
};

export const spoken = ({ event, link, retryCount }: Handed): string => {
  const one = event ?? link!;
  return `${one.streamId}/${one.revision}${retryCount > 0 ? `#${retryCount}` : ""}`;
};
