/**
 * The worker of threads that is killed: `threads-worker-process.ts <store> <effects> <threads>` brings that many threads to their end,
 * eight at a time, whatever an earlier worker left of them, and exits. It says "up" before it begins. Every body writes one line to the
 * effects file before anything else: `<thread> <key> <pid>`.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { openSqliteLog } from "../../src/store-sqlite/index.ts";
import { logCheckpointer, type WorkflowContext, workflow } from "../../src/threads/index.ts";

const AT_ONCE = 8;

/** What each thread answers. */
export const expectedOutput = (threadId: string): unknown => ({
  links: [0, 1, 2, 3, 4, 5],
  parts: ["a", "b", "c"],
  approved: `yes, ${threadId}`,
  last: "instead",
});

const body = (effects: string) => async (_: string, context: WorkflowContext) => {
  const { threadId, step, interrupt } = context;
  const effect = (key: string): void => appendFileSync(effects, `${threadId} ${key} ${process.pid}\n`);
  const links: number[] = [];
  for (let n = 0; n < 6; n += 1) {
    const link = async ({ key }: { readonly key: string }): Promise<number> => {
      effect(key);
      if (n % 2 === 1) await delay(2 * n);
      return n;
    };
    links.push(await step("link", link));
  }
  const approved = interrupt<string>({ reason: `approve ${threadId}?` });
  const part = (name: string, ms: number) =>
    step(name, async ({ key }) => {
      effect(key);
      await delay(ms);
      return name;
    });
  const parts = await Promise.all([part("a", 9), part("b", 4), part("c", 1)]);
  const last = await step(
    "last",
    ({ key }): string => {
      effect(key);
      throw new Error("it never works");
    },
    { retry: { maxAttempts: 2, initialIntervalMs: 2 }, onError: () => "instead" },
  );
  return { links, parts, approved, last };
};

export const threadOf = (store: Parameters<typeof logCheckpointer>[0], effects: string) =>
  workflow(body(effects), { name: "killed", checkpointer: logCheckpointer(store) });

const finish = async (thread: ReturnType<typeof threadOf>, threadId: string): Promise<void> => {
  for (;;) {
    const found = await thread.state(threadId);
    if (found?.status === "completed") return;
    if (found === undefined) await thread.invoke("input", { threadId });
    else if (found.status === "awaiting_input") await thread.resumeWith(threadId, `yes, ${threadId}`);
    else for await (const _ of thread.continue(threadId));
  }
};

if (import.meta.main) {
  const [file, effects, count] = process.argv.slice(2) as [string, string, string];
  const log = openSqliteLog(file);
  const thread = threadOf(log, effects);
  process.stdout.write("up\n");
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < Number(count)) await finish(thread, `thread-${next++}`);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  await log.close();
}
