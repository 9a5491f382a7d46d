/**
 * The package's JavaScript, bundled: a process that starts loads a dozen files instead of three hundred (docs/adr/0016).
 *
 * Of the packages that are in it only the parts that are used; their licences are written beside it. What two entry points have in
 * common is a file that both import, so that a class is the same class in both.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";
import { inAscii } from "./ascii-source.ts";
import { withEagerFunctions } from "./eager-functions.ts";

const PROJECT = join(import.meta.dirname, "..");
const SOURCE = join(PROJECT, "src");

/** What openRunstream stands on, and the parts of packages that it takes. */
const CORE =
  /[\\/](?:src[\\/](?:events|projections|engine|embedded|store-memory|store-sqlite)|node_modules[\\/](?:fp-ts|io-ts|rxjs|superjson|tslib))[\\/]/;

/** What a worker has run of by the time it walks its first run: nearly everything that is in these. */
const STARTED = new RegExp(
  [
    "/src/(?:engine|embedded|store-sqlite)/",
    "/src/events/(?:catalogue|codec|event-codec|event-id|event-schema|payload|payload-walk)\\.",
    "/src/projections/run-(?:index|state)",
    "/node_modules/(?:io-ts|rxjs)/",
  ]
    .join("|")
    .replaceAll("/", "[\\\\/]"),
);

const eagerStart: Plugin = {
  name: "eager-start",
  transform: {
    filter: { id: STARTED },
    handler: (source, _id, { moduleType }) => withEagerFunctions(source, moduleType === "ts" ? "ts" : "js"),
  },
};

/** At the very end: what is printed once more after a chunk was rendered has its characters back. */
const oneByte: Plugin = {
  name: "one-byte",
  generateBundle(_options, files) {
    for (const file of Object.values(files)) if (file.type === "chunk") file.code = inAscii(file.code);
  },
};

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}
interface OwnManifest {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
}

/** Every file that the package's manifest names as an entry point, by its path without ending: `"testing/index"`. */
const entryPoints = (): Record<string, string> => {
  const own = JSON.parse(readFileSync(join(PROJECT, "package.json"), "utf8")) as OwnManifest;
  const targets = Object.values(own.exports).flatMap((to) => (typeof to === "string" ? [] : [to.default]));
  return Object.fromEntries(
    [...targets, ...Object.values(own.bin)].map((target) => {
      const name = target.replace(/^\.\/dist\//, "").replace(/\.js$/, "");
      return [name, join(SOURCE, `${name}.ts`)];
    }),
  );
};

const installed = (...path: readonly string[]): string => join(PROJECT, "node_modules", ...path);

/** The package whose file `moduleId` is; undefined for a file of ours. */
const packageOf = (moduleId: string): string | undefined => {
  if (!moduleId.includes(`${join("/", "node_modules", "/")}`)) return undefined;
  let folder = dirname(moduleId);
  while (!existsSync(join(folder, "package.json")) || manifestIn(folder).name === undefined)
    folder = dirname(folder);
  return folder;
};

const manifestIn = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;

const licenceText = (folder: string): string => {
  const { name, version, license } = manifestIn(folder);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} ${version} (${license}) has no licence file to ship.`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
};

/** Writes the package's JavaScript, and the licences of what is in it, into `folder`. Answers the files of code. */
export const bundlePackage = async (folder: string): Promise<readonly OutputChunk[]> => {
  const build = await rolldown({
    input: entryPoints(),
    // A client with parts of its own to load, and a library that whoever tests brings.
    external: [/^node:/, "@eventstore/db-client", "fast-check"],
    // The editions of these packages that are ECMAScript modules, which can be taken in parts.
    resolve: {
      mainFields: ["module", "main"],
      alias: {
        "fp-ts/lib": installed("fp-ts", "es6"),
        rxjs$: installed("rxjs", "dist", "esm", "index.js"),
        "rxjs/operators$": installed("rxjs", "dist", "esm", "operators", "index.js"),
      },
    },
    plugins: [eagerStart, oneByte],
    treeshake: { moduleSideEffects: [{ test: /[\\/]node_modules[\\/]/, sideEffects: false }] },
    platform: "node",
  });
  const { output } = await build.write({
    dir: folder,
    format: "esm",
    chunkFileNames: "chunks/[name]-[hash].js",
    // Each file takes a process about two milliseconds to load: what most entry points need is one.
    codeSplitting: { groups: [{ name: "core", test: CORE }] },
    comments: false,
  });
  await build.close();
  const chunks = output.filter((file) => file.type === "chunk");
  const packages = new Set(chunks.flatMap(({ moduleIds }) => moduleIds.flatMap((id) => packageOf(id) ?? [])));
  const licences = [...packages].sort().map(licenceText);
  writeFileSync(join(folder, "THIRD-PARTY-LICENSES.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));
  return chunks;
};
