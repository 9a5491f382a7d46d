/**
 * Runs the files it is given one after another, each in a fresh folder, and prints a JSON line for each: what it printed and how it ended.
 * One process for all of them, because a process takes far longer to start than an example to run.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const write = process.stdout.write.bind(process.stdout);
const begin = process.cwd();
const scratch = mkdtempSync(join(process.argv[2] ?? tmpdir(), "run-"));

for (const file of process.argv.slice(3)) {
  let stdout = "";
  let error = "";
  process.chdir(mkdtempSync(join(scratch, "in-")));
  process.stdout.write = ((chunk: string | Uint8Array) => {
    stdout += String(chunk);
    return true;
  }) as typeof process.stdout.write;
  try {
    await import(pathToFileURL(join(begin, file)).href);
  } catch (cause) {
    error = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  }
  process.stdout.write = write;
  write(`${JSON.stringify({ file, stdout, error })}\n`);
}
process.chdir(begin);
