/**
 * Who owns deliveries, and whether he still lives. On one machine that is known at once: his process is there or it is not.
 * Only where processes cannot be looked up (another host or process namespace) a heartbeat has to do.
 *
 * Heartbeats are real time on purpose: a virtual clock that jumps a day must not declare everybody dead.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { realNow } from "./turns.ts";

export interface Owner {
  readonly host: string;
  /** Differs after a restart of the machine; empty where the system does not say. */
  readonly boot: string;
  /** The namespace in which `pid` counts; empty where the system does not say. */
  readonly namespace: string;
  readonly pid: number;
  /** When the process started, which tells it from a later one of the same number; empty where the system does not say. */
  readonly started: string;
}

export const BEAT_MS = 5_000;
/** Silence after which an owner that cannot be looked up counts as dead. */
const SILENCE_MS = 30_000;
/** Silence after which an owner counts as dead although its process is there: stopped, or its log was never closed. */
const LONG_SILENCE_MS = 120_000;

const orEmpty = (read: () => string): string => {
  try {
    return read();
  } catch {
    return "";
  }
};

/** State and start time of a process; `undefined` if it is not there or may not be looked at. */
const statOf = (pid: number): { readonly state: string; readonly started: string } | undefined => {
  const text = orEmpty(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  // The second field is the program's name in brackets, which may itself hold blanks and brackets.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return text === "" ? undefined : { state: fields[0] ?? "", started: fields[19] ?? "" };
};

const findSelf = (): Owner => ({
  host: hostname(),
  boot: orEmpty(() => readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim()),
  namespace: orEmpty(() => readlinkSync("/proc/self/ns/pid")),
  pid: process.pid,
  started: statOf(process.pid)?.started ?? "",
});

let self: Owner | undefined;
export const thisProcess = (): Owner => {
  self ??= findSelf();
  return self;
};

/** Is there no process of this number? One that belongs to another user is there. */
const isMissing = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return false;
  } catch (cause) {
    return cause instanceof Error && "code" in cause && cause.code === "ESRCH";
  }
};

const processIsGone = (pid: number, started: string): boolean => {
  if (isMissing(pid)) return true;
  const stat = statOf(pid);
  if (stat === undefined) return false;
  return stat.state === "Z" || stat.state === "X" || (started !== "" && stat.started !== started);
};

const isNear = (owner: Owner, me: Owner): boolean =>
  owner.host === me.host && owner.boot === me.boot && owner.namespace === me.namespace;

/** A glance that costs a microsecond: is the owner's process number free? Misses a number that was given out again. */
export const looksGone = (owner: Owner): boolean => isNear(owner, thisProcess()) && isMissing(owner.pid);

/** Is the owner dead, last heard of at `beat`? */
export const isGone = (owner: Owner, beat: number): boolean => {
  const me = thisProcess();
  const silence = realNow() - beat;
  if (owner.host === me.host && owner.boot !== me.boot) return true;
  if (!isNear(owner, me)) return silence > SILENCE_MS;
  return silence > LONG_SILENCE_MS || processIsGone(owner.pid, owner.started);
};
