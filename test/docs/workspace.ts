/**
 * A folder outside the project in which the code of the documentation is what it would be at a user's: `import … from "runstream"` works,
 * and so do the packages of the project. Its package calls itself `runstream` and exports our sources, so that nothing has to be built.
 */
import { type ExecFileException, execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Block, ROOT } from "./documents.ts";

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Ran {
  readonly stdout: string;
  /** The stack of what it threw; empty where it threw nothing. */
  readonly error: string;
}

export interface Workspace {
  readonly folder: string;
  /** Writes a block to a file of its own, in the folder of its document, and answers its path below the workspace. */
  add(block: Block): string;
  typeCheck(): Promise<Finished>;
  /** Runs files with the project's Node, one after another. Throws where the process did not come to its end. */
  run(files: readonly string[]): Promise<ReadonlyMap<string, Ran>>;
  remove(): void;
}

const WITHIN_MS = 19_000;
const NODE = join(ROOT, "node_modules/.bin/node");

const finish = (command: string, args: readonly string[], cwd: string): Promise<Finished> =>
  new Promise((resolve) => {
    const options = {
      cwd,
      encoding: "utf8" as const,
      timeout: WITHIN_MS,
      env: { ...process.env, NO_COLOR: "1" },
    };
    execFile(command, args, options, (error: ExecFileException | null, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      resolve({ code, stdout, stderr });
    });
  });

const sourceExports = (): Record<string, string> => {
  const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    exports: Record<string, string | { default: string }>;
  };
  const sources: Record<string, string> = {};
  for (const [entry, target] of Object.entries(exports))
    if (typeof target === "object")
      sources[entry] = target.default.replace("./dist/", "./src/").replace(/\.js$/, ".ts");
  return sources;
};

export const makeWorkspace = (): Workspace => {
  const exports = sourceExports();
  const folder = mkdtempSync(join(tmpdir(), "runstream-docs-"));
  const files: string[] = [];
  symlinkSync(join(ROOT, "src"), join(folder, "src"));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "runstream", type: "module", exports }));
  return {
    folder,
    add(block) {
      const named = block.words.find((word) => word.startsWith("file="))?.slice("file=".length);
      const name = named ?? `line-${block.at.split(":")[1]}.ts`;
      const file = join(block.document.replaceAll(/[/.]/g, "-"), name);
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      // A block without imports is a module as well: it must not share names with the others.
      writeFileSync(join(folder, file), `${block.text}export {};\n`, { flag: "wx" });
      files.push(file);
      return file;
    },
    typeCheck() {
      const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, "tsconfig.json"), "utf8")) as {
        compilerOptions: object;
      };
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
      return finish(join(ROOT, "node_modules/.bin/tsc"), ["-p", folder, "--pretty", "false"], folder);
    },
    async run(toRun) {
      const runner = join(import.meta.dirname, "run-blocks-process.ts");
      const { code, stdout, stderr } = await finish(NODE, [runner, folder, ...toRun], folder);
      if (code !== 0 || stderr !== "") throw new Error(`The examples ended with code ${code}: ${stderr}`);
      const ran = stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Ran & { file: string });
      return new Map(ran.map(({ file, ...result }) => [file, result]));
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
};
