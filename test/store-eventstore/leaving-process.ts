/** Uses a log in every way, closes it and has nothing left to do. With `wait`, closes it when its subscription breaks. */
import { randomUUID } from "node:crypto";
import { openEventStoreLog } from "../../src/store-eventstore/index.ts";

const [server = "", appends = "plain", wait] = process.argv.slice(2);
const log = await openEventStoreLog(server, {
  appends: appends === "batch" ? "batch" : "plain",
  reconnectForMs: wait === undefined ? 60_000 : 100,
});
const answer = await log.append("a", "none", [{ id: randomUUID(), type: "Noted", data: {}, metadata: {} }])();
if (answer._tag === "Left") throw new Error(answer.left._tag);
for await (const _ of log.readAll()) break;
const broken = new Promise<void>((resolve) => {
  log.subscribe({ after: "start" }).subscribe({ error: () => resolve() });
});
await new Promise<void>((resolve) => {
  log.consume("g").subscribe({ next: () => resolve(), error: () => {} });
});
if (wait !== undefined) {
  console.log("ready");
  await broken;
}
await log.close();
console.log("closed");
