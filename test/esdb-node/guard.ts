/**
 * Who may do what, and on which node: credentials and leadership, before anything is done.
 *
 * A node without TLS asks nobody who he is. With TLS it knows `admin` and `ops`, who may do everything, and `guest`, who may neither touch
 * `$all` and system streams nor groups; the password of all three is `changeit`. Who sends no credentials may do nothing.
 */
import type { Metadata } from "@grpc/grpc-js";
import type { Core } from "./core.ts";
import { accessDenied, badCredentials, type Failure, notLeader } from "./failures.ts";

/** `"group"`: the call is about a persistent subscription, which only a leader serves and only an administrator may make. */
export type Purpose = "stream" | "group";

/** Why the call is refused, if it is. */
export const guard = (
  core: Core,
  metadata: Metadata,
  stream: string,
  purpose: Purpose,
): Failure | undefined => {
  const { leader } = core.faults.switches;
  if (leader !== undefined && (purpose === "group" || metadata.get("requires-leader")[0] === "true"))
    return notLeader(leader);
  if (core.users === undefined) return undefined;
  const authorization = metadata.get("authorization")[0];
  if (authorization === undefined) return accessDenied();
  const user = userIn(String(authorization));
  const known = user === undefined ? undefined : core.users.get(user.name);
  if (known === undefined || known.password !== user!.password) return badCredentials();
  return known.admin || (purpose === "stream" && !stream.startsWith("$")) ? undefined : accessDenied();
};

const userIn = (authorization: string): { readonly name: string; readonly password: string } | undefined => {
  const parts = /^Basic (.+)$/.exec(authorization);
  if (parts === null) return undefined;
  const [name = "", ...password] = Buffer.from(parts[1]!, "base64").toString("utf8").split(":");
  return { name, password: password.join(":") };
};

export interface User {
  readonly password: string;
  readonly admin: boolean;
}

export const DEFAULT_USERS: ReadonlyMap<string, User> = new Map([
  ["admin", { password: "changeit", admin: true }],
  ["ops", { password: "changeit", admin: true }],
  ["guest", { password: "changeit", admin: false }],
]);
