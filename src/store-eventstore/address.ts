/** What names a server and no file. By itself, so that asking does not load the client. Whether the rest can be used: connection-string.ts. */
export const isServerAddress = (store: string): boolean => /^esdb(?:\+discover)?:\/\//i.test(store);
