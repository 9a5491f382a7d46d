/** How a server says no: a gRPC status with the trailers by which clients recognise it. */
import { Metadata, type StatusObject, status } from "@grpc/grpc-js";
import type { Expected } from "./append-rules.ts";
import { revisionText } from "./record.ts";

export type Failure = StatusObject;

const failure = (code: status, details: string, trailers: Readonly<Record<string, string>> = {}): Failure => {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(trailers)) metadata.set(key, headerSafe(value));
  return { code, details, metadata };
};

/** Trailers are printable ASCII: other characters of a stream's name cannot travel there. */
const headerSafe = (text: string): string => text.replace(/[^\x20-\x7e]/g, "?");

const exception = (code: status, name: string, details: string, trailers: Record<string, string> = {}) =>
  failure(code, details, { exception: name, ...trailers });

export const streamDeleted = (stream: string): Failure =>
  exception(status.FAILED_PRECONDITION, "stream-deleted", `Event stream '${stream}' is deleted.`, {
    "stream-name": stream,
  });

/** `actual` is -1 for no stream. */
export const wrongExpectedVersion = (stream: string, expected: Expected, actual: number): Failure =>
  exception(
    status.FAILED_PRECONDITION,
    "wrong-expected-version",
    `Append failed due to WrongExpectedVersion. Stream: ${stream}, Expected version: ${expected}, Actual version: ${actual}`,
    {
      "stream-name": stream,
      "expected-version": expectedNumber(expected),
      "actual-version": actual === -1 ? "" : revisionText(actual),
    },
  );

const expectedNumber = (expected: Expected): string =>
  expected === "any"
    ? "-2"
    : expected === "stream_exists"
      ? "-4"
      : expected === "no_stream"
        ? "-1"
        : String(expected);

export const maximumAppendSizeExceeded = (limit: number): Failure =>
  exception(
    status.INVALID_ARGUMENT,
    "maximum-append-size-exceeded",
    `Maximum Append Size of ${limit} Exceeded.`,
    { "maximum-append-size": String(limit) },
  );

export const missingMetadata = (missing: readonly string[]): Failure =>
  exception(
    status.INVALID_ARGUMENT,
    "missing-required-metadata-property",
    `Required Metadata Property '${missing[0]}' is missing`,
    { "required-metadata-properties": "type,content-type" },
  );

export const accessDenied = (): Failure =>
  exception(status.PERMISSION_DENIED, "access-denied", "Access Denied");

export const badCredentials = (): Failure => failure(status.UNAUTHENTICATED, "Bad HTTP authentication");

export const notLeader = (leader: { readonly host: string; readonly port: number }): Failure =>
  exception(status.NOT_FOUND, "not-leader", `Leader info available at ${leader.host}:${leader.port}`, {
    "leader-endpoint-host": leader.host,
    "leader-endpoint-port": String(leader.port),
  });

const ofGroup = (stream: string, group: string) => ({ "stream-name": stream, "group-name": group });

export const groupDoesNotExist = (stream: string, group: string): Failure =>
  exception(
    status.NOT_FOUND,
    "persistent-subscription-does-not-exist",
    `Subscription group ${group} on stream ${stream} does not exist.`,
    ofGroup(stream, group),
  );

export const groupExists = (stream: string, group: string): Failure =>
  exception(
    status.ALREADY_EXISTS,
    "persistent-subscription-exists",
    `Subscription group ${group} on stream ${stream} exists.`,
    ofGroup(stream, group),
  );

export const groupFull = (stream: string, group: string): Failure =>
  exception(
    status.FAILED_PRECONDITION,
    "maximum-subscribers-reached",
    `Maximum subscriptions reached for subscription group ${group} on stream ${stream}.`,
    ofGroup(stream, group),
  );

export const groupDropped = (stream: string, group: string): Failure =>
  exception(
    status.CANCELLED,
    "persistent-subscription-dropped",
    `Subscription group ${group} on stream ${stream} was dropped.`,
    ofGroup(stream, group),
  );

export const groupFailed = (stream: string, group: string, reason: string): Failure =>
  exception(
    status.INTERNAL,
    "persistent-subscription-failed",
    `Subscription group ${group} on stream ${stream} failed: '${reason}'`,
    { ...ofGroup(stream, group), reason },
  );

export const serverTimeout = (): Failure => failure(status.ABORTED, "Operation timed out");
export const serverBusy = (): Failure => failure(status.UNAVAILABLE, "Server Is Too Busy");
export const serverGone = (code: "cancelled" | "unavailable"): Failure =>
  code === "cancelled"
    ? failure(status.CANCELLED, "Call cancelled")
    : failure(status.UNAVAILABLE, "Connection dropped");
export const logFailed = (reason: string): Failure =>
  failure(status.UNAVAILABLE, `The node cannot write: ${reason}. Start it again.`);
export const invalidPosition = (): Failure => failure(status.INVALID_ARGUMENT, "Invalid position");
export const invalidArgument = (details: string): Failure => failure(status.INVALID_ARGUMENT, details);
