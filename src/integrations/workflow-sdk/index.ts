/** Runstream as a World of the Workflow SDK. */
export { createWorld, type RunstreamWorld } from "./create-world.ts";
export type { WorldOptions } from "./settings.ts";
