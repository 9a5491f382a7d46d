/**
 * How payloads are sealed, out of a module of the user's: its export `keyFor`, a function of a run's id and what the key is wanted for, and
 * its export `compress`, a boolean. Both may stand in a default export instead.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { PayloadOptions } from "../embedded/sealed-log.ts";
import type { EventLog } from "../events/event-log.ts";
import { usageError } from "./usage-error.ts";

/** The `payloads` of a store, to be spread into its options; nothing where no module is named. Throws a usage error. */
export const payloadsFrom = async (
  module: string | undefined,
): Promise<{ readonly payloads?: PayloadOptions }> => {
  if (module === undefined || module === "") return {};
  const path = resolve(module);
  if (!existsSync(path))
    throw usageError(`There is no module ${JSON.stringify(module)} with keys (looked for ${path}).`);
  const exported = await imported(module, path);
  const { keyFor, compress } = { ...(exported.default as object | undefined), ...exported } as Record<
    string,
    unknown
  >;
  if (keyFor === undefined && compress === undefined)
    throw usageError(
      `${module} exports neither keyFor nor compress. Export a function that answers a run's key of 32 bytes:\n  export const keyFor = (runId, use) => …;`,
    );
  if (keyFor !== undefined && typeof keyFor !== "function")
    throw usageError(`keyFor of ${module} has to be a function.`);
  if (compress !== undefined && typeof compress !== "boolean")
    throw usageError(`compress of ${module} has to be true or false.`);
  return {
    payloads: {
      ...(compress !== undefined && { compress }),
      ...(keyFor !== undefined && {
        keys: { keyFor: keyFor as NonNullable<PayloadOptions["keys"]>["keyFor"] },
      }),
    },
  };
};

/** `log`, through which payloads are sealed and opened as the module says. */
export const withKeys = async (log: EventLog, module: string | undefined): Promise<EventLog> => {
  const { payloads } = await payloadsFrom(module);
  if (payloads === undefined) return log;
  const { sealedLog } = await import("../embedded/sealed-log.ts");
  return sealedLog(log, payloads);
};

const imported = async (module: string, path: string): Promise<Record<string, unknown>> => {
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  } catch (cause) {
    throw usageError(
      `${module} cannot be imported: ${cause instanceof Error ? cause.message : String(cause)}`,
      cause,
    );
  }
};
