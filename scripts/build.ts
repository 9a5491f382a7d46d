/** Makes `dist`: the declarations, by the TypeScript compiler, and the JavaScript, bundled. */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { bundlePackage } from "./bundle.ts";

const PROJECT = join(import.meta.dirname, "..");
const DIST = join(PROJECT, "dist");

rmSync(DIST, { recursive: true, force: true });
const compiler = join(PROJECT, "node_modules", "typescript", "bin", "tsc");
const { status } = spawnSync(process.execPath, [compiler, "-p", join(PROJECT, "tsconfig.build.json")], {
  stdio: "inherit",
});
if (status !== 0) throw new Error("The declarations could not be made: see above.");
for (const { fileName, code } of await bundlePackage(DIST))
  console.log(`dist/${fileName}  ${code.length} characters`);
