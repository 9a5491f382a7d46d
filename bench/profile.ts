/** Which functions of this project the processor's time went to, by V8's sampling profiler. Time of the functions themselves. */
import { type Profiler, Session } from "node:inspector/promises";

export interface OwnShare {
  readonly name: string;
  /** Of all samples in which the process was not idle. */
  readonly share: number;
}

const SHOWN = 5;

/** Runs `work` under the profiler; answers the busiest functions of `src/`, busiest first. */
export const ownShares = async (work: () => Promise<unknown>): Promise<OwnShare[]> => {
  const session = new Session();
  session.connect();
  let profile: Profiler.Profile;
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.setSamplingInterval", { interval: 250 });
    await session.post("Profiler.start");
    await work();
    profile = (await session.post("Profiler.stop")).profile;
  } finally {
    session.disconnect();
  }
  const hits = new Map<string, number>();
  let busy = 0;
  for (const { callFrame, hitCount = 0 } of profile.nodes) {
    if (callFrame.functionName === "(idle)" || callFrame.functionName === "(program)") continue;
    busy += hitCount;
    const place = /\/src\/(.+)$/.exec(callFrame.url)?.[1];
    if (place === undefined) continue;
    const name = `${callFrame.functionName || "(anonymous)"} in ${place}`;
    hits.set(name, (hits.get(name) ?? 0) + hitCount);
  }
  return [...hits]
    .map(([name, hit]) => ({ name, share: hit / busy }))
    .sort((a, b) => b.share - a.share)
    .slice(0, SHOWN);
};
