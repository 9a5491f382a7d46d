/**
 * fast-check as a value somebody hands over. This package never imports it: whoever writes property tests brings their own, of
 * version 4, as `import fc from "fast-check"`. Where it is not installed its types are `any`, and nothing else changes: that is what the
 * ignored errors below are for, which have to stand in the published declarations.
 */
// biome-ignore-start lint/suspicious/noTsIgnore: an expected error would itself be one wherever fast-check is installed.
/** @ts-ignore an optional peer */
export type FastCheck = typeof import("fast-check").default;
/** @ts-ignore an optional peer */
export type { Arbitrary } from "fast-check";
// biome-ignore-end lint/suspicious/noTsIgnore: see above.
