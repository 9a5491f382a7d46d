/**
 * An application in a process of its own: the Workflow SDK on the World that `WORKFLOW_TARGET_WORLD` names, the flow
 * route on a free port, and runs that are started by its parent.
 *
 * It is told of a run's end by the write that ends it, so that nothing polls and every World is watched alike.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { createWorldFromModule } from "@workflow/core/runtime";
import type { World } from "@workflow/world";
import { start } from "workflow/api";
import { setWorld } from "workflow/runtime";
import { flow } from "./workflows.ts";

/** From the parent: start so many runs, keeping so many under way. */
export interface Order {
  readonly workflowId: string;
  readonly args: readonly unknown[];
  readonly runs: number;
  readonly inFlight: number;
}

/** From the parent: go on with a World on another store, which these variables of the environment name. */
export interface Move {
  readonly env: Readonly<Record<string, string>>;
}

/** To the parent, in this order: it listens, at the start and after a move; a run was started; a run ended; all of an order ended. */
export type Said =
  | { readonly said: "listening" }
  | { readonly said: "started"; readonly runId: string }
  | { readonly said: "ended"; readonly runId: string; readonly as: string }
  | {
      readonly said: "done";
      readonly ms: number;
      /** Processor time of the whole process meanwhile. */
      readonly cpuMs: number;
      readonly latencies: readonly number[];
    };

const say = (what: Said): void => {
  process.send?.(what);
};

/** Runs that ended before anybody waited for it, and those that somebody waits for. */
const ended = new Set<string>();
const waiting = new Map<string, () => void>();

const end = (runId: string): void => {
  const resolve = waiting.get(runId);
  if (resolve === undefined) ended.add(runId);
  waiting.delete(runId);
  resolve?.();
};

const endOf = (runId: string): Promise<void> =>
  ended.delete(runId)
    ? Promise.resolve()
    : new Promise<void>((resolve) => {
        waiting.set(runId, resolve);
      });

const watched = (world: World): World => {
  const create = world.events.create.bind(world.events) as (...args: unknown[]) => Promise<unknown>;
  world.events.create = (async (runId: string, event: { eventType: string }, ...rest: unknown[]) => {
    const result = await create(runId, event, ...rest);
    if (/^run_(completed|failed|cancelled)$/.test(event.eventType)) {
      say({ said: "ended", runId, as: event.eventType });
      end(runId);
    }
    return result;
  }) as World["events"]["create"];
  return world;
};

const carryOut = async ({ workflowId, args, runs, inFlight }: Order): Promise<void> => {
  const latencies: number[] = [];
  let left = runs;
  const began = performance.now();
  const cpuBefore = process.cpuUsage();
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const at = performance.now();
      const { runId } = await start({ workflowId } as never, [...args] as never);
      say({ said: "started", runId });
      await endOf(runId);
      latencies.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  const { user, system } = process.cpuUsage(cpuBefore);
  say({ said: "done", ms: performance.now() - began, cpuMs: (user + system) / 1_000, latencies });
};

const server = createServer((incoming, outgoing) => {
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", async () => {
    const headers = new Headers(incoming.headers as Record<string, string>);
    const url = `http://localhost${incoming.url}`;
    const response = await flow(new Request(url, { method: "POST", headers, body: Buffer.concat(chunks) }));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  });
});

const specifier = process.env.WORKFLOW_TARGET_WORLD as string;
const target = specifier.startsWith(".") ? new URL(specifier, import.meta.url).href : specifier;
let world: World | undefined;

/** The World on the store that the environment names, in place of the one before. */
const openWorld = async (): Promise<void> => {
  await world?.close?.();
  world = watched(await createWorldFromModule(await import(target)));
  setWorld(world);
  await world.start?.();
  say({ said: "listening" });
};

server.listen(0, () => {
  process.env.PORT = String((server.address() as AddressInfo).port);
  process.on("message", (message: Order | Move) => {
    if (!("env" in message)) return void carryOut(message);
    Object.assign(process.env, message.env);
    void openWorld();
  });
  void openWorld();
});
process.on("disconnect", () => process.exit(0));
