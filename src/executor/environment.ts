/**
 * What the executor reads from the environment, at every call and never at load: a test, or a deployment, may change it under a
 * running process. A number that makes no sense is the default, with one warning; one out of range is the nearest that is in it.
 */

/** The value of a variable; an empty one is none. */
export const setting = (name: string): string | undefined => process.env[name] || undefined;

/** A switch of three positions: on, off, or not set (which includes every other text). */
export const flag = (name: string): boolean | undefined => {
  const text = setting(name)?.toLowerCase();
  if (text === "1" || text === "true") return true;
  return text === "0" || text === "false" ? false : undefined;
};

const warned = new Set<string>();

/** A whole number between two bounds. */
export const wholeNumber = (name: string, fallback: number, min: number, max: number): number => {
  const text = setting(name);
  if (text === undefined) return fallback;
  const value = Number(text);
  if (Number.isInteger(value)) return Math.min(max, Math.max(min, value));
  const complaint = `${name} is ${JSON.stringify(text)}, which is no whole number: ${fallback} is used. Set it between ${min} and ${max}`;
  if (!warned.has(complaint)) {
    warned.add(complaint);
    process.emitWarning(complaint);
  }
  return fallback;
};

const DEFAULT_PORT = "3000";

/** Where this deployment answers: `https://$VERCEL_URL`, else `http://localhost:$PORT`, with 3000 for the port. */
export const deploymentUrl = (): string => {
  const host = setting("VERCEL_URL");
  return host === undefined ? `http://localhost:${setting("PORT") ?? DEFAULT_PORT}` : `https://${host}`;
};
