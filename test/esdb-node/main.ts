/**
 * The stand-in node as a process. It prints one line of JSON when it is ready, and takes commands as lines of JSON:
 * `{"fault": Fault}`, `{"switch": Partial<Switches>}`, `{"clear": true}`, `{"redeliver": true}`, `{"counts": true}`. Each is answered by one line.
 */
import { createInterface } from "node:readline";
import { Command, InvalidArgumentError, Option } from "commander";
import { certificatesIn, makeCertificates } from "./certificates.ts";
import type { Fault, Switches } from "./faults.ts";
import { type StandInNode, startNode } from "./node.ts";

interface Options {
  readonly port: number;
  readonly host: string;
  readonly db: string;
  readonly tls?: true;
  readonly certs?: string;
  readonly serverVersion?: string;
  readonly maxAppendSize?: number;
}

interface Instruction {
  readonly fault?: Fault;
  readonly switch?: Partial<Switches>;
  readonly clear?: true;
  readonly redeliver?: true;
  readonly counts?: true;
}

const wholeNumber = (text: string): number => {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError("It must be a whole number.");
  return Number(text);
};

const obey = (node: StandInNode, line: string): unknown => {
  const instruction = JSON.parse(line) as Instruction;
  if (instruction.fault !== undefined) node.faults.add(instruction.fault);
  if (instruction.switch !== undefined) Object.assign(node.faults.switches, instruction.switch);
  if (instruction.clear) node.faults.clear();
  if (instruction.redeliver) node.redeliver();
  return instruction.counts ? { ok: true, counts: node.counts } : { ok: true };
};

const answerTo = (node: StandInNode, line: string): unknown => {
  try {
    return obey(node, line);
  } catch (error) {
    return { ok: false, reason: (error as Error).message };
  }
};

const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

const run = async (options: Options): Promise<void> => {
  const node = await startNode({
    port: options.port,
    host: options.host,
    ...(options.db === ":memory:" ? {} : { file: options.db }),
    ...(options.tls
      ? { tls: options.certs === undefined ? makeCertificates() : certificatesIn(options.certs) }
      : {}),
    ...(options.serverVersion === undefined ? {} : { version: options.serverVersion }),
    ...(options.maxAppendSize === undefined ? {} : { maxAppendSize: options.maxAppendSize }),
  });
  const { port, connectionString, rootCertificate } = node;
  say({ port, connectionString, ...(rootCertificate === undefined ? {} : { rootCertificate }) });
  createInterface({ input: process.stdin }).on("line", (line) => say(answerTo(node, line)));
  const stop = () => node.stop().then(() => process.exit(0));
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
};

await new Command("esdb-node")
  .description("A stand-in EventStoreDB node for tests. It is not the database.")
  .addOption(
    new Option("--port <number>", "port to listen on; 0 is any").default(2113).argParser(wholeNumber),
  )
  .option("--host <address>", "address to listen on", "127.0.0.1")
  .option("--db <file>", "SQLite file that keeps the log, or :memory:", ":memory:")
  .option("--insecure", "no TLS, and nobody is asked who he is (the default)")
  .option("--tls", "TLS by a certificate authority of its own; admin, ops and guest log in with changeit")
  .option("--certs <folder>", "with --tls: where the certificates are kept, and made if they are not there")
  .option("--server-version <version>", "what the node says it is")
  .addOption(new Option("--max-append-size <bytes>", "size of one append").argParser(wholeNumber))
  .action(run)
  .parseAsync();
