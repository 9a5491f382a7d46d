/** A process that writes: `race <file> <stream> <count>`, `busy <file>` (until killed), `hold <file>` (consumes, never acks). */
import { randomUUID } from "node:crypto";
import { openSqliteLog } from "../../src/store-sqlite/index.ts";

const [mode, file, stream = "run-1", count = "0"] = process.argv.slice(2);
const say = (...words: unknown[]): void => void process.stdout.write(`${words.join(" ")}\n`);
const event = (data = {}) => ({
  id: randomUUID(),
  type: "Happened",
  data: { pid: process.pid, ...data },
  metadata: {},
});

const race = async (): Promise<void> => {
  const log = openSqliteLog(file!);
  let revision = -1;
  for (let won = 0; won < Number(count); ) {
    const answer = await log.append(stream, revision === -1 ? "none" : revision, [event()])();
    if (answer._tag === "Right") {
      won += 1;
      revision = answer.right.revision;
    } else if (answer.left._tag === "WrongExpectedRevision") {
      revision = answer.left.actual === "none" ? -1 : answer.left.actual;
    } else throw new Error(JSON.stringify(answer.left));
  }
  await log.close();
  say("done");
};

const busy = async (): Promise<void> => {
  const log = openSqliteLog(file!);
  const worker = async (name: string): Promise<void> => {
    for (let revision = -1; ; ) {
      const answer = await log.append(name, revision === -1 ? "none" : revision, [event(), event()])();
      if (answer._tag === "Left") throw new Error(JSON.stringify(answer.left));
      revision = answer.right.revision;
      say(name, revision);
    }
  };
  await Promise.all([0, 1, 2, 3].map((n) => worker(`${process.pid}-${n}`)));
};

const hold = (): void => {
  const log = openSqliteLog(file!);
  log
    .consume("group", { maxInFlight: 4 })
    .subscribe(({ event: { stream: of, revision } }) => say(of, revision));
  setInterval(() => undefined, 1_000);
};

const open = async (): Promise<void> => {
  try {
    const log = openSqliteLog(file!);
    const answer = await log.append("run-1", "any", [event()])();
    say(JSON.stringify(answer));
    await log.close();
  } catch (error) {
    say(JSON.stringify({ name: (error as Error).name, error: (error as { error?: unknown }).error }));
  }
};

const fill = async (): Promise<void> => {
  const log = openSqliteLog(file!);
  const text = "x".repeat(20_000);
  for (let n = 0; n < 500; n += 1) {
    const answer = await log.append("run-1", "any", [event({ text })])();
    if (answer._tag === "Right") continue;
    const again = await log.append("run-1", "any", [event({ text })])();
    say(JSON.stringify({ acknowledged: n, first: answer.left, again }));
    break;
  }
  await log.close();
};

await { race, busy, hold, open, fill }[mode as "race"]();
