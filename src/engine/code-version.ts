/**
 * Which code a process runs, as its operator names it. A diagnostic: it explains a divergence and never refuses a run.
 */

/** The trimmed `RUNSTREAM_CODE_VERSION` of the process, or `undefined` where it is unset or blank. */
export const processCodeVersion = (
  env: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined => {
  const version = env.RUNSTREAM_CODE_VERSION?.trim();
  return version === "" ? undefined : version;
};

/** What the version a run was started with and the version walking it say about a redeploy in between. */
export type CodeVerdict = "changed" | "same" | "unknown";

/** `unknown` where either version is missing. */
export const codeVerdict = (started: string | undefined, walking: string | undefined): CodeVerdict => {
  if (started === undefined || walking === undefined) return "unknown";
  return started === walking ? "same" : "changed";
};
