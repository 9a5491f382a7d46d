/** How the key of a hook and the key of its deadline go together: the same token and occurrence, `hook!…` and `hookTimeout!…`. */
export const deadlineKey = (hookKey: string): string => hookKey.replace(/^hook!/, "hookTimeout!");

/** Is it the key of a hook's deadline, and of no sleep of its own? */
export const isDeadlineKey = (key: string): boolean => key.startsWith("hookTimeout!");
