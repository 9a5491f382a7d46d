/** Starts the stand-in node as a process of its own, for tests that kill it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface NodeProcess {
  readonly port: number;
  readonly connectionString: string;
  readonly rootCertificate: string | undefined;
  readonly pid: number;
  /** One command of `main.ts`, and its answer. */
  tell(command: object): Promise<unknown>;
  /** SIGKILL. Answers when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM. Answers when the process is gone. */
  stop(): Promise<void>;
}

const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url));

/**
 * @param options as on the command line, without the leading dashes: `{ db: "file", port: 2113, tls: true }`. The port is any by default.
 */
export const startNodeProcess = async (
  options: Readonly<Record<string, string | number | true>> = {},
): Promise<NodeProcess> => {
  const given: Readonly<Record<string, string | number | true>> = { port: 0, ...options };
  const args = Object.entries(given).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : [`--${name}`, String(value)],
  );
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  const ready = (await nextLine(child, lines)) as Pick<
    NodeProcess,
    "port" | "connectionString" | "rootCertificate"
  >;
  let turn: Promise<unknown> = Promise.resolve();
  return {
    port: ready.port,
    connectionString: ready.connectionString,
    rootCertificate: ready.rootCertificate,
    pid: child.pid!,
    tell: (command) => {
      const answer = turn.then(() => {
        child.stdin.write(`${JSON.stringify(command)}\n`);
        return nextLine(child, lines);
      });
      turn = answer.catch(() => undefined);
      return answer;
    },
    kill: () => end(child, "SIGKILL"),
    stop: () => end(child, "SIGTERM"),
  };
};

const nextLine = async (child: ChildProcess, lines: Interface): Promise<unknown> => {
  const line = once(lines, "line") as Promise<[string]>;
  const gone = once(child, "exit").then(([code]) => {
    throw new Error(`The stand-in node ended with ${code} before it answered.`);
  });
  const [text] = await Promise.race([line, gone]);
  return JSON.parse(text);
};

const end = async (child: ChildProcess, signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill(signal);
  await gone;
};
