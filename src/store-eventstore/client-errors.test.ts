import {
  AccessDeniedError,
  CancelledError,
  DeadlineExceededError,
  MaxAppendSizeExceededError,
  StreamDeletedError,
  TimeoutError,
  UnavailableError,
  UnknownError,
  UnsupportedError,
} from "@eventstore/db-client";
import { describe, expect, it } from "vitest";
import { type Failure, failureOf, LateError, limitOf, reasonOf, storeErrorOf } from "./client-errors.ts";

/** What gRPC throws and the client has not converted, as from its very first call. */
const raw = (code: number, details: string) =>
  Object.assign(new Error(`${code}: ${details}`), { code, details });

const CASES: readonly (readonly [string, unknown, Failure])[] = [
  ["a batch's timeout, without a word or a code", new DeadlineExceededError(), "timed out"],
  ["a batch's refusal for size", MaxAppendSizeExceededError.fromMaxAppendSize(7), "too large"],
  ["a batch's tombstone", StreamDeletedError.fromStreamName("a"), "stream deleted"],
  ["a batch's refusal of access", new AccessDeniedError(), "denied"],
  ["what the client cannot name", new UnknownError(), "unknown"],
  ["a lack of the server", new UnsupportedError("groups on $all", "21.10"), "unsupported"],
  ["a server's timeout", new TimeoutError(), "timed out"],
  ["a server that is going away", new CancelledError(), "broken"],
  ["a connection that broke", new UnavailableError(), "broken"],
  [
    "a first call without a server",
    raw(14, "No connection established. Last error: ECONNREFUSED"),
    "unreachable",
  ],
  ["a name that leads nowhere", raw(14, "Name resolution failed for target dns:nowhere"), "unreachable"],
  ["a server that is busy", raw(14, "Server Is Too Busy"), "busy"],
  ["a server that starts", raw(14, "Server Is Not Ready"), "busy"],
  ["a connection that was dropped", raw(14, "Connection dropped"), "broken"],
  [
    "a host that swallows everything",
    raw(4, "Deadline exceeded after 10s,Waiting for LB pick"),
    "unreachable",
  ],
  ["a deadline in the middle of a call", raw(4, "Deadline exceeded after 10s"), "timed out"],
  [
    "a message that gRPC refuses",
    raw(8, "Received message larger than max (20000000 vs. 17825792)"),
    "too large",
  ],
  ["a server that wants less", raw(8, "Bandwidth exhausted or memory limit exceeded"), "broken"],
  ["a login that is wrong", raw(16, "Bad HTTP authentication"), "denied"],
  ["a method that is not there", raw(12, "Method not found"), "unsupported"],
  ["a cluster without nodes", new Error("Failed to discover after 10 attempts."), "unreachable"],
  ["our own deadline", new LateError("no answer"), "timed out"],
  ["anything else", "?", "unknown"],
];

describe("failures of the client", () => {
  it.each(CASES)("E1 %s", (_, error, failure) => {
    expect(failureOf(error)).toBe(failure);
  });

  it("say which server, what happened and what to do", () => {
    expect(reasonOf("esdb://db:2113", new UnsupportedError("groups on $all", "21.10"))).toBe(
      "esdb://db:2113: the server lacks what this takes (groups on $all requires server version 21.10 or higher.); Runstream needs EventStoreDB 23.10 or later, or KurrentDB",
    );
    expect(storeErrorOf("esdb://db:2113", raw(16, "")).message).toMatch(
      /^esdb:\/\/db:2113: the login was refused/,
    );
  });

  it("the limit of an append is the server's, or gRPC's own", () => {
    expect(limitOf(MaxAppendSizeExceededError.fromMaxAppendSize(7))).toBe(7);
    expect(limitOf(raw(8, "Received message larger than max (20000000 vs. 17825792)"))).toBe(17_825_792);
    expect(limitOf(raw(8, "too much"))).toBe(16 * 1024 * 1024);
  });
});
