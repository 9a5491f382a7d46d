/**
 * Connection strings, looked at before the client sees them: it prints them, password and all, when it does not know a key, cuts
 * passwords at a colon, and ignores what it cannot do. Each of these is refused here, in words that never repeat the string.
 */
import { randomUUID } from "node:crypto";
import { unusable } from "./client-errors.ts";

/** The keys that the client knows, without case, `-` and `_`. */
const KEYS: ReadonlySet<string> = new Set([
  "connectionname",
  "defaultdeadline",
  "discoveryinterval",
  "gossiptimeout",
  "keepaliveinterval",
  "keepalivetimeout",
  "maxdiscoverattempts",
  "nodepreference",
  "throwonappendfailure",
  "tls",
  "tlscafile",
  "tlsverifycert",
  "usercertfile",
  "userkeyfile",
]);

const SHAPE = /^(esdb(?:\+discover)?):\/\/(?:([^/?]*)@)?([^@/?]+)\/?(?:\?(.*))?$/;

const flatKey = (key: string): string => key.trim().toLowerCase().replace(/[_-]/g, "");

/** What is wrong with it, and what to write instead; `undefined` when nothing is. */
const faultOf = (credentials: string | undefined, query: string | undefined): string | undefined => {
  if (credentials !== undefined && !/^[^:@]+:[^:@]+$/.test(credentials))
    return "its credentials are not user:password; write a colon, an @ and the like in them percent-encoded (%3A, %40)";
  try {
    decodeURIComponent(credentials ?? "");
  } catch {
    return "its credentials are not well percent-encoded; a % in them is written %25";
  }
  for (const pair of query?.split("&") ?? []) {
    const [key = "", value = "", ...more] = pair.split("=");
    const flat = flatKey(key);
    if (more.length > 0 || value === "") return `its part ${JSON.stringify(key)} is not key=value`;
    if (!KEYS.has(flat)) return `it has a key ${JSON.stringify(key)}, which the client does not know`;
    if (flat === "tlsverifycert" && value === "false")
      return "tlsVerifyCert=false has no effect in this client; name the certificate authority with tlsCAFile";
    if (flat === "throwonappendfailure" && value === "false")
      return "throwOnAppendFailure=false cannot be used: refusals are told apart by what is thrown";
  }
  return undefined;
};

/** The string with a connection name that no other client has: by its own the server tells one consumer of a group from the others. */
export const withOwnName = (connectionString: string): string => {
  const [start = "", ...queries] = connectionString.split("?");
  const pairs = queries.join("?").split("&");
  const named = pairs.map((pair) =>
    flatKey(pair.split("=")[0] ?? "") === "connectionname" ? `${pair.trimEnd()}-${randomUUID()}` : pair,
  );
  return [start, ...(queries.length === 0 ? [] : [named.join("&")])].join("?");
};

/**
 * Where a connection string leads, without credentials and keys, as in `esdb://db.example:2113`.
 * @throws StoreError `Unavailable` for a string that cannot be used.
 */
export const serverOf = (connectionString: string): string => {
  const [, protocol, credentials, hosts, query] = SHAPE.exec(connectionString.trim()) ?? [];
  // An @ behind a host that has none before it ends credentials in which something was not percent-encoded: they are not shown.
  const misread = credentials === undefined && /^[^=]*@/.test(query ?? "");
  if (protocol === undefined || hosts === undefined || misread)
    throw unusable(
      "EventStoreDB",
      "the connection string is not one; write esdb://host:2113?tls=false, or esdb+discover://user:password@cluster:2113",
    );
  const server = `${protocol}://${hosts}`;
  const fault = faultOf(credentials, query);
  if (fault !== undefined) throw unusable(server, `the connection string cannot be used: ${fault}`);
  return server;
};
