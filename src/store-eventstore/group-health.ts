/** How the consumer groups on a server are doing, for people who operate it. What an engine needs it asks in group.ts. */
import { failureOf, storeErrorOf } from "./client-errors.ts";
import { within } from "./connection.ts";
import type { EventStoreGroupHealth, EventStoreSettings } from "./options.ts";
import { serverOfSettings } from "./settings.ts";

const DEADLINE_MS = 10_000;
/** A group with a filter, as this store names it on the server (group-settings.ts): others' are none of our business. */
const OURS = /~[0-9a-f]{8}$/;

/**
 * The groups of this store on the server, by their names there.
 * @throws StoreError `Unavailable`, by rejection, where the server cannot be asked within 10 s, or tells this login nothing of groups.
 */
export const eventStoreGroups = async (
  server: string | EventStoreSettings,
): Promise<readonly EventStoreGroupHealth[]> => {
  const { name, makeClient } = serverOfSettings(server);
  const client = makeClient();
  try {
    const asking = client.listPersistentSubscriptionsToAll({ deadline: DEADLINE_MS });
    const groups = await within(asking, DEADLINE_MS + 1_000, "the question for the consumer groups");
    return groups
      .filter(({ groupName }) => OURS.test(groupName))
      .map(({ groupName, connections, stats }) => ({
        name: groupName,
        consumers: connections.length,
        inHand: stats.totalInFlightMessages,
        parked: Number(stats.parkedMessageCount),
      }));
  } catch (error) {
    if (failureOf(error) === "group missing") return [];
    throw storeErrorOf(name, error);
  } finally {
    await client.dispose();
  }
};
