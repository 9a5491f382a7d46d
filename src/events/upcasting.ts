/**
 * Upcasting: reading events of older schema versions as today's. What is stored is never rewritten.
 *
 * A step knows one type and one version and answers the next version's data and metadata; steps are applied in order. They are pure:
 * the same stored event reads the same for ever.
 */
import type { JsonObject } from "./json.ts";

export interface Stored {
  readonly data: JsonObject;
  readonly metadata: JsonObject;
}

/** Turns what `version` of `type` stored into what the next version would have. */
export interface Upcaster {
  readonly type: string;
  readonly version: number;
  readonly upcast: (stored: Stored) => Stored;
}

/** The steps of each type, from version 1 up. */
export type UpcastSteps = ReadonlyMap<string, readonly Upcaster["upcast"][]>;

/**
 * Orders the steps of `upcasters` by type and version.
 * @throws Error when a version older than the current one has no step or two, or a step belongs to no known version.
 */
export const orderUpcasters = (
  current: ReadonlyMap<string, { readonly version: number }>,
  upcasters: readonly Upcaster[],
): UpcastSteps => {
  const steps = new Map<string, Upcaster["upcast"][]>();
  for (const [type, { version }] of current) {
    const ordered: Upcaster["upcast"][] = [];
    steps.set(type, ordered);
    for (let from = 1; from < version; from++) {
      const found = upcasters.filter((step) => step.type === type && step.version === from);
      if (found.length !== 1) {
        throw new Error(
          `Event type ${type} needs exactly one upcaster from version ${from}; there are ${found.length}.`,
        );
      }
      ordered.push((found[0] as Upcaster).upcast);
    }
  }
  const known = (step: Upcaster): boolean =>
    step.version >= 1 && step.version <= (steps.get(step.type)?.length ?? 0);
  const stray = upcasters.find((step) => !known(step));
  if (stray !== undefined) {
    throw new Error(
      `The upcaster of ${stray.type} from version ${stray.version} belongs to no older version.`,
    );
  }
  return steps;
};
