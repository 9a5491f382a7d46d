/** Reads an event for the run index: what it says, or why this version cannot tell. Never throws. */
import type { RunEvent } from "../events/catalogue.ts";
import { decodeRunEvent } from "../events/codec.ts";
import type { RecordedEvent } from "../events/event-log.ts";

export const decodeForIndex = (event: RecordedEvent): RunEvent | { readonly unreadable: string } => {
  const decoded = decodeRunEvent(event);
  return decoded._tag === "Right" ? decoded.right : { unreadable: decoded.left.message };
};
