/**
 * Filters for the server: it takes one, of streams or of types, both by prefix. What it lets through is never less than what passes
 * the port's filter; the rest is sieved out here, with `passes`.
 */
import { eventTypeFilter, excludeSystemEvents, type Filter, streamNameFilter } from "@eventstore/db-client";
import type { EventFilter } from "../events/event-log.ts";
import { writeName, writePrefixes } from "./names.ts";

/**
 * Types before streams: a type is much the rarer. `checkpointReached` is told that the subscription is alive, and must not throw: the
 * client awaits it where nobody catches.
 */
export const serverFilter = (filter: EventFilter | undefined, checkpointReached?: () => void): Filter => {
  const options = checkpointReached === undefined ? {} : { checkpointReached, checkpointInterval: 32 };
  const { types, streamPrefix } = filter ?? {};
  if (types !== undefined && types.length > 0)
    return eventTypeFilter({ prefixes: types.map(writeName), ...options });
  const prefixes = streamPrefix === undefined ? undefined : writePrefixes(streamPrefix);
  return prefixes === undefined ? excludeSystemEvents(options) : streamNameFilter({ prefixes, ...options });
};
