/** The EventLog on EventStoreDB or KurrentDB: one stream per run on the server, shared by as many workers as one likes. */
import type { EventLog } from "../events/event-log.ts";
import { EventStoreLog } from "./eventstore-log.ts";
import type { EventStoreLogOptions, EventStoreSettings } from "./options.ts";
import { serverOfSettings } from "./settings.ts";

export { eventStoreGroups } from "./group-health.ts";
export type { EventStoreGroupHealth, EventStoreLogOptions, EventStoreSettings } from "./options.ts";

/**
 * Connects to a server and opens the log in it: by a connection string (`esdb://localhost:2113?tls=false`,
 * `esdb+discover://user:password@cluster.example:2113`) or by the client's own settings. The caller closes the log.
 *
 * An append may have as many bytes as the server is set to take, 1 MiB unless told otherwise.
 *
 * @throws StoreError `Unavailable`, by rejection, if the connection string cannot be used, the server cannot be reached within the
 *   deadline, or the login is refused or may not read the whole log. Its message names the server, never the password.
 * @example
 * const log = await openEventStoreLog("esdb://localhost:2113?tls=false");
 */
export const openEventStoreLog = async (
  server: string | EventStoreSettings,
  options: EventStoreLogOptions = {},
): Promise<EventLog> => {
  const log = new EventStoreLog(serverOfSettings(server), options);
  try {
    await log.head();
  } catch (error) {
    await log.close();
    throw error;
  }
  return log;
};
