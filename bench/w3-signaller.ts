/** W3's other process: signals the tokens it is told, and says when it did. */
import { openRunstream } from "../src/index.ts";
import { machineMs } from "./machine-clock.ts";

const runstream = openRunstream({ store: process.argv[2] ?? "" });

process.on("message", async ({ token }: { readonly token: string }) => {
  const at = machineMs();
  const accepted = await runstream.signal(token, { yes: true });
  process.send?.({ kind: "signalled", at, accepted });
});
process.once("SIGTERM", () => void runstream.stop().then(() => process.exit(0)));
process.send?.({ kind: "ready" });
