/**
 * Do type notes fit the JSON beside them? superjson passes over notes that lead nowhere and makes something of whatever it finds, so
 * that damage would come back as a wrong value; here it is found and named first.
 */
import { isJsonObject, type Json } from "./json.ts";
import { formatPath, type PathPart, PayloadError } from "./payload-error.ts";

const isPairs = (json: unknown): boolean =>
  Array.isArray(json) && json.every((pair) => Array.isArray(pair) && pair.length === 2);

const isEntries = (json: unknown): boolean =>
  isPairs(json) && (json as unknown[][]).every(([key]) => typeof key === "string");

const matches =
  (pattern: RegExp) =>
  (json: unknown): boolean =>
    typeof json === "string" && pattern.test(json);

/** What the JSON of each noted type must be. */
const FITS = new Map<string, (json: unknown) => boolean>([
  ["undefined", (json) => json === null],
  ["bigint", matches(/^-?\d+$/)],
  ["Date", (json) => typeof json === "string" && !Number.isNaN(Date.parse(json))],
  ["number", matches(/^(NaN|-?Infinity|-0)$/)],
  ["regexp", matches(/^\/.+\/[a-z]*$/s)],
  ["URL", (json) => typeof json === "string" && URL.canParse(json)],
  ["set", Array.isArray],
  ["map", isPairs],
  ["custom Uint8Array", (json) => typeof json === "string"],
  ["custom InvalidDate", (json) => json === null],
  ["custom Error", isJsonObject],
  ["custom entries", isEntries],
  ["custom null-prototype", (json) => isJsonObject(json) || isEntries(json)],
]);

const childOf = (json: Json | undefined, key: string): Json | undefined => {
  if (Array.isArray(json))
    return /^(0|[1-9]\d*)$/.test(key) ? (json[Number(key)] as Json | undefined) : undefined;
  return isJsonObject(json) && Object.hasOwn(json, key) ? json[key] : undefined;
};

const misfit = (root: string, at: readonly PathPart[]): PayloadError =>
  new PayloadError(
    formatPath(root, at),
    "the stored type notes do not fit the stored JSON. The event was damaged, or written by something else.",
  );

const checkTree = (json: Json, tree: unknown, root: string, at: readonly PathPart[]): void => {
  const children: unknown = Array.isArray(tree) ? tree[1] : tree;
  if (children !== undefined) {
    if (!isJsonObject(children)) throw misfit(root, at);
    for (const [path, child] of Object.entries(children)) {
      if (path.includes("\\")) throw misfit(root, [...at, path]);
      const keys = path.split(".");
      let found: Json | undefined = json;
      for (const key of keys) found = childOf(found, key);
      if (found === undefined) throw misfit(root, [...at, ...keys]);
      checkTree(found, child, root, [...at, ...keys]);
    }
  }
  if (!Array.isArray(tree)) return;
  const type: unknown = Array.isArray(tree[0]) ? tree[0].join(" ") : tree[0];
  if (FITS.get(type as string)?.(json) !== true) throw misfit(root, at);
};

/** @throws PayloadError naming the first place where notes and JSON disagree. */
export const checkNotes = (json: Json, types: Json, root: string): void => {
  if (
    !isJsonObject(types) ||
    types.v !== 1 ||
    Object.keys(types).length !== 2 ||
    typeof types.values !== "object"
  ) {
    throw misfit(root, []);
  }
  checkTree(json, types.values, root, []);
};
