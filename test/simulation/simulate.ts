/** Lives through a seed's history and judges it; on failure, lives through it again to tell what happened. */

import type { History } from "./history.ts";
import type { Surroundings } from "./surroundings.ts";
import { judge } from "./verdict.ts";
import { Violation } from "./violation.ts";
import { liveThrough } from "./world.ts";

/** Throws {@link Violation}. */
export const simulate = async (seed: number, surroundings: Surroundings = {}): Promise<History> => {
  const history = await liveThrough({ seed, surroundings });
  await judge(history, { plain: surroundings.plain === true });
  return history;
};

/** The law that the seed's history breaks, if it does. */
export const lawBrokenBy = async (seed: number, surroundings?: Surroundings): Promise<string | undefined> => {
  try {
    await simulate(seed, surroundings);
    return undefined;
  } catch (error) {
    if (error instanceof Violation) return error.law;
    throw error;
  }
};

/** What a person needs to know about a seed that breaks a law: the law, the trace, and how to see it again. */
export const report = async (seed: number, surroundings: Surroundings = {}): Promise<string> => {
  const lines: string[] = [];
  let end = "every law holds";
  try {
    const history = await liveThrough({ seed, surroundings, trace: (line) => lines.push(line) });
    await judge(history, { plain: surroundings.plain === true });
  } catch (error) {
    end = error instanceof Error ? (error.stack ?? String(error)) : String(error);
  }
  return [
    ...lines,
    "",
    `seed ${seed}: ${end}`,
    `Replay: RUNSTREAM_SEED=${seed} npx vitest run test/simulation/simulation.test.ts`,
  ].join("\n");
};

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** The lines with every UUID replaced by how many others came before it: holders and drawn ids differ between two lives of a seed. */
export const normalised = (lines: readonly string[]): string[] => {
  const seen = new Map<string, string>();
  return lines.map((line) =>
    line.replace(UUID, (uuid) => {
      const name = seen.get(uuid) ?? `uuid${seen.size}`;
      seen.set(uuid, name);
      return name;
    }),
  );
};
