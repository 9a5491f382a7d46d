/**
 * The payloads of a run of the Workflow SDK, which are the SDK's business: shown as it wrote them where they are text, and by their size where
 * they are compressed or encrypted.
 */
import type { Json } from "../events/json.ts";
import type { Payload } from "../events/payload.ts";
import type { SdkBytes, SdkEvent } from "../events/sdk-runs.ts";
import { payloadLines } from "./payload-text.ts";
import { harmless } from "./terminal.ts";

const LONGEST = 200;

/** What an event carries as `field`: `{ text }` or `{ base64 }` of the SDK's bytes, or the plain JSON that older versions wrote. */
export const sdkPayload = (
  { data: { bytes, eventData } }: SdkEvent,
  field: "input" | "output" | "error",
): Payload | undefined => {
  if (bytes !== undefined) return { json: bytes };
  const json = (eventData?.json as Readonly<Record<string, Json>> | undefined)?.[field];
  return json === undefined ? undefined : { json };
};

/** The lines of a payload of {@link sdkPayload}, for people. */
export const sdkPayloadLines = (payload: Payload | undefined): string[] => {
  const bytes = payload?.json as Partial<SdkBytes> | null | undefined;
  if (typeof bytes !== "object" || bytes === null) return payloadLines(payload);
  if ("text" in bytes && typeof bytes.text === "string") return [shortened(harmless(bytes.text))];
  if ("base64" in bytes && typeof bytes.base64 === "string")
    return [`compressed or encrypted, ${Buffer.byteLength(bytes.base64, "base64")} bytes`];
  return payloadLines(payload);
};

const shortened = (text: string): string =>
  text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}… (cut: --json gives all)`;
