/**
 * What the client throws, told apart by type and gRPC code and never by class, and said in the port's words: which server, what
 * happened, what to do. Nothing else looks at the client's errors.
 *
 * - E1 "Nothing was written" is claimed only where the call cannot have reached the server, or the server said so itself.
 * - E2 A connection string and what the client says about one are never repeated: a password may be in them.
 */
import { ErrorType } from "@eventstore/db-client";
import type { AppendError } from "../events/event-log.ts";
import { StoreError } from "../events/store-error.ts";

export type Trouble = Exclude<AppendError, { _tag: "WrongExpectedRevision" }>;

export type Failure =
  | "wrong revision"
  | "stream deleted"
  | "stream not found"
  | "too large"
  | "not leader"
  | "denied"
  | "unsupported"
  | "invalid"
  /** The call did not reach the server. */
  | "unreachable"
  /** The server declined to do anything now. */
  | "busy"
  | "broken"
  | "timed out"
  | "group missing"
  | "group exists"
  | "group full"
  | "unknown";

const BY_TYPE: Readonly<Record<string, Failure>> = {
  [ErrorType.WRONG_EXPECTED_VERSION]: "wrong revision",
  [ErrorType.STREAM_DELETED]: "stream deleted",
  [ErrorType.STREAM_NOT_FOUND]: "stream not found",
  [ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED]: "too large",
  [ErrorType.NOT_LEADER]: "not leader",
  [ErrorType.ACCESS_DENIED]: "denied",
  [ErrorType.UNSUPPORTED]: "unsupported",
  [ErrorType.INVALID_ARGUMENT]: "invalid",
  [ErrorType.CANCELLED]: "broken",
  [ErrorType.TIMEOUT]: "timed out",
  [ErrorType.PERSISTENT_SUBSCRIPTION_DOES_NOT_EXIST]: "group missing",
  [ErrorType.PERSISTENT_SUBSCRIPTION_EXISTS]: "group exists",
  [ErrorType.MAXIMUM_SUBSCRIBERS_REACHED]: "group full",
  [ErrorType.PERSISTENT_SUBSCRIPTION_DROPPED]: "broken",
};

/** By gRPC status: errors that the client did not convert (those of its first call), and those it calls unknown. */
const BY_CODE: Readonly<Record<number, Failure>> = {
  1: "broken",
  3: "invalid",
  7: "denied",
  12: "unsupported",
  16: "denied",
};

const RESOURCE_EXHAUSTED = 8;
const UNAVAILABLE = 14;
const DEADLINE_EXCEEDED = 4;

interface Said {
  readonly type?: unknown;
  readonly code?: unknown;
  readonly details?: unknown;
  readonly _raw?: { readonly details?: unknown };
  readonly maxAppendSize?: unknown;
}

const said = (error: unknown): Said => (typeof error === "object" && error !== null ? error : {});

/** The server's own words. Those of the client about how to reach a server are left out of some of them. */
export const wordsOf = (error: unknown): string => {
  const { details, _raw } = said(error);
  for (const words of [_raw?.details, details]) if (typeof words === "string" && words !== "") return words;
  return error instanceof Error ? error.message || error.name : String(error);
};

export const failureOf = (error: unknown): Failure => {
  if (error instanceof LateError) return "timed out";
  const { type, code } = said(error);
  const words = wordsOf(error);
  if (type === ErrorType.UNAVAILABLE || code === UNAVAILABLE) {
    if (/No connection established|Name resolution failed/i.test(words)) return "unreachable";
    return /server is (not ready|(too )?busy)/i.test(words) ? "busy" : "broken";
  }
  if (type === ErrorType.DEADLINE_EXCEEDED || code === DEADLINE_EXCEEDED)
    return /waiting for (LB pick|name resolution)/i.test(words) ? "unreachable" : "timed out";
  const known = typeof type === "string" ? BY_TYPE[type] : undefined;
  if (known !== undefined) return known;
  // The status of quotas too, and of a server that wants less of everything: those say nothing about the call.
  if (code === RESOURCE_EXHAUSTED) return /message|size/i.test(words) ? "too large" : "broken";
  if (typeof code === "number") return BY_CODE[code] ?? "unknown";
  return type === undefined && /^Failed to discover/.test(words) ? "unreachable" : "unknown";
};

/** Is it the end of a whole call? An answer within one has no status. */
export const isOfTheCall = (error: unknown): boolean => typeof said(error).code === "number";

/** Our own deadline, around calls on which the client has none. */
export class LateError extends Error {
  override readonly name = "LateError";
}

/** The limit that an append exceeded, in bytes. */
export const limitOf = (error: unknown): number => {
  const { maxAppendSize } = said(error);
  if (typeof maxAppendSize === "number") return maxAppendSize;
  // A message that gRPC itself refuses: it says so in words only, "(16800000 vs. 16777216)".
  return Number(/vs\.? (\d+)/.exec(wordsOf(error))?.[1] ?? 16 * 1024 * 1024);
};

const TEXTS: Readonly<Record<Failure, (words: string) => string>> = {
  "wrong revision": (words) => `refused a revision (${words})`,
  "stream deleted": () => "the stream was deleted for good (tombstoned)",
  "stream not found": () => "there is no such stream",
  "too large": (words) => `an event, or an append, is too large for the server (${words})`,
  "not leader": () =>
    "the node that answers is not the leader, and no leader could be reached; try again when the cluster has elected one",
  denied: () =>
    "the login was refused, or may not do this: check user and password in the connection string; reading the whole log ($all) and making consumer groups take an administrator ($admins) unless the server is told otherwise",
  unsupported: (words) =>
    `the server lacks what this takes (${words}); Runstream needs EventStoreDB 23.10 or later, or KurrentDB`,
  invalid: (words) => `the server refuses the request (${words})`,
  unreachable: (words) =>
    `cannot be reached (${words}); check that the server runs there, the address and port, and whether it wants TLS ("tls=false" in the connection string when it does not)`,
  busy: (words) => `declines requests now (${words}); try again`,
  broken: (words) => `the connection broke (${words}); try again when the server is back`,
  "timed out": (words) =>
    `did not answer in time (${words}); look at the server's load and the network, and try again`,
  "group missing": () => "the consumer group was deleted; consume it again, and it is made anew",
  "group exists": () => "the consumer group is there already",
  "group full": () =>
    "the consumer group takes no further consumer (its maxSubscriberCount); raise it, or stop one",
  unknown: (words) => `failed (${words})`,
};

/** What happened, with the server's name in front. */
export const reasonOf = (server: string, error: unknown): string =>
  `${server}: ${TEXTS[failureOf(error)](wordsOf(error))}`;

export const unavailable = (server: string, what: string, cause?: unknown): Trouble => ({
  _tag: "Unavailable",
  reason: `${server}: ${what}`,
  ...(cause === undefined ? {} : { cause }),
});

const CLOSED = "the log is closed; open it again";

export const closedTrouble = (server: string): Trouble => unavailable(server, CLOSED);

/** What a read, a subscription or a group could not do. */
export const storeErrorOf = (server: string, error: unknown): StoreError => {
  if (StoreError.is(error)) return error;
  const reason = reasonOf(server, error);
  if (failureOf(error) === "invalid" && /position/i.test(wordsOf(error))) {
    const alien = `${reason}; the position to begin at comes from another database, or from before this one was restored`;
    return new StoreError(alien, { _tag: "Corrupt", reason: alien, cause: error });
  }
  return new StoreError(reason, { _tag: "Unavailable", reason, cause: error });
};

/** The settings are wrong, or the log is closed. */
export const unusable = (server: string, what: string): StoreError => {
  const trouble = unavailable(server, what);
  return new StoreError(`${server}: ${what}`, trouble);
};

export const closedError = (server: string): StoreError => unusable(server, CLOSED);
