/** placeholder types, filled by payload work */
import type { Json } from "./json.ts";

export interface Payload {
  readonly json: Json;
  readonly types?: Json;
}
