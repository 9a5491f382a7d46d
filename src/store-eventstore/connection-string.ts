/**
 * Connection strings, looked at before the client sees them: it prints them, password and all, when it does not know a key, cuts
 * passwords at a colon, and ignores what it cannot do. Each of these is refused here, in words that never repeat the string.
 */
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

/** What is wrong with it, and what to write instead; `undefined` when nothing is. */
const faultOf = (credentials: string | undefined, query: string | undefined): string | undefined => {
  if (credentials !== undefined && !/^[^:]+:[^:]+$/.test(credentials))
    return "its credentials are not user:password; write a colon, an @ and the like in them percent-encoded (%3A, %40)";
  try {
    decodeURIComponent(credentials ?? "");
  } catch {
    return "its credentials are not well percent-encoded; a % in them is written %25";
  }
  for (const pair of query?.split("&") ?? []) {
    const [key = "", value = "", ...more] = pair.split("=");
    const flat = key.trim().toLowerCase().replace(/[_-]/g, "");
    if (more.length > 0 || value === "") return `its part ${JSON.stringify(key)} is not key=value`;
    if (!KEYS.has(flat)) return `it has a key ${JSON.stringify(key)}, which the client does not know`;
    if (flat === "tlsverifycert" && value === "false")
      return "tlsVerifyCert=false has no effect in this client; name the certificate authority with tlsCAFile";
    if (flat === "throwonappendfailure" && value === "false")
      return "throwOnAppendFailure=false cannot be used: refusals are told apart by what is thrown";
  }
  return undefined;
};

/**
 * Where a connection string leads, without credentials and keys, as in `esdb://db.example:2113`.
 * @throws StoreError `Unavailable` for a string that cannot be used.
 */
export const serverOf = (connectionString: string): string => {
  const [, protocol, credentials, hosts, query] = SHAPE.exec(connectionString.trim()) ?? [];
  if (protocol === undefined || hosts === undefined)
    throw unusable(
      "EventStoreDB",
      "the connection string is not one; write esdb://host:2113?tls=false, or esdb+discover://user:password@cluster:2113",
    );
  const server = `${protocol}://${hosts}`;
  const fault = faultOf(credentials, query);
  if (fault !== undefined) throw unusable(server, `the connection string cannot be used: ${fault}`);
  return server;
};
