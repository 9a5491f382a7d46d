/** Reads an event for the run index: what it says, or why this version cannot tell. Never throws. */
import type { HistoryEvent } from "../events/catalogue.ts";
import { decodeHistoryEvent } from "../events/codec.ts";
import type { RecordedEvent } from "../events/event-log.ts";

export const decodeForIndex = (event: RecordedEvent): HistoryEvent | { readonly unreadable: string } => {
  const decoded = decodeHistoryEvent(event);
  return decoded._tag === "Right" ? decoded.right : { unreadable: decoded.left.message };
};
