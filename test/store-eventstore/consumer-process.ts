/** A consumer of its own process: says the revision and the redeliveries of what it gets, and acks the first so many. */
import { openEventStoreLog } from "../../src/store-eventstore/index.ts";

const [server = "", group = "", streamPrefix = "", acks = "0"] = process.argv.slice(2);
const log = await openEventStoreLog(server);
let left = Number(acks);
log.consume(group, { filter: { streamPrefix } }).subscribe((item) => {
  if (left > 0) item.ack();
  left -= 1;
  console.log(`${item.event.revision} ${item.redeliveries}`);
});
