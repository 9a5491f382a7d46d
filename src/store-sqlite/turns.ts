/**
 * The real turns and timers of the event loop, taken once when the module is loaded: fake clocks that a test installs later
 * replace the globals, and would strand appends and polls that wait on them.
 */
export const nextTurn: (work: () => void) => void = setImmediate;
export const after: (work: () => void, ms: number) => NodeJS.Timeout = setTimeout;
export const every: (work: () => void, ms: number) => NodeJS.Timeout = setInterval;
export const stopEvery: (timer: NodeJS.Timeout | undefined) => void = clearInterval;
export const stopAfter: (timer: NodeJS.Timeout | undefined) => void = clearTimeout;
export const elapsed: () => number = performance.now.bind(performance);

export const turn = (): Promise<void> => new Promise((resolve) => nextTurn(resolve));

export const realNow: () => number = Date.now;
