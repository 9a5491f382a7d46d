/** What of a decoded event stayed sealed. */
import { type HistoryEvent, sealedFields } from "./catalogue.ts";
import type { SealedState } from "./sealed-value.ts";

/** Why something of the event could not be opened; `undefined` where all of it reads. */
export const sealedIn = ({ type, data }: HistoryEvent): SealedState | undefined => {
  for (const field of sealedFields(type)) {
    const value = (data as Readonly<Record<string, unknown>>)[field];
    if (typeof value === "object" && value !== null && "sealed" in value) return value.sealed as SealedState;
  }
  return undefined;
};
