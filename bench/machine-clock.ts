/** Milliseconds since the machine started: one clock for all of its processes. */
export const machineMs = (): number => Number(process.hrtime.bigint()) / 1e6;
