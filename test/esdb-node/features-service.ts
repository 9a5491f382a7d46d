/** ServerFeatures: which methods this node has, and which options of them. Clients ask before their first append. */
import { features } from "./messages.ts";

type Supported = InstanceType<typeof features.SupportedMethods>;

const PERSISTENT = ["stream", "all"];

const METHODS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  "event_store.client.streams.streams": {
    read: ["position", "events"],
    append: [],
    batchappend: ["deadline_duration"],
    delete: [],
    tombstone: [],
  },
  "event_store.client.persistent_subscriptions.persistentsubscriptions": {
    create: PERSISTENT,
    update: PERSISTENT,
    delete: PERSISTENT,
    read: PERSISTENT,
    getinfo: PERSISTENT,
    list: PERSISTENT,
    replayparked: PERSISTENT,
    restartsubsystem: PERSISTENT,
  },
  "event_store.client.gossip.gossip": { read: [] },
  "event_store.client.server_features.serverfeatures": { getsupportedmethods: [] },
};

export const supportedMethods = (version: string, batchAppend: boolean): Supported => {
  const supported = new features.SupportedMethods();
  supported.setEventStoreServerVersion(version);
  for (const [service, methods] of Object.entries(METHODS)) {
    for (const [name, options] of Object.entries(methods)) {
      if (name === "batchappend" && !batchAppend) continue;
      const method = new features.SupportedMethod();
      method.setServiceName(service);
      method.setMethodName(name);
      method.setFeaturesList([...options]);
      supported.addMethods(method);
    }
  }
  return supported;
};
