/** Looking at whatever was thrown. A body may throw anything, so nothing here throws. */

/** A property of a value; `undefined` where there is none, or where it cannot be read. */
export const fieldOf = (value: unknown, field: string): unknown => {
  if (typeof value !== "object" || value === null) return undefined;
  try {
    return (value as Record<string, unknown>)[field];
  } catch {
    return undefined;
  }
};

/** The `name` of an error, or of anything that has one. */
export const nameOf = (thrown: unknown): string | undefined => {
  const name = fieldOf(thrown, "name");
  return typeof name === "string" ? name : undefined;
};
