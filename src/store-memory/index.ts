export type { Parked } from "./group.ts";
export { createMemoryLog, type MemoryLog, type MemoryLogOptions } from "./log.ts";
