/**
 * fast-check as a value somebody hands over. This package never imports it: whoever writes property tests brings their own, of
 * version 4, as `import fc from "fast-check"`.
 */
export type FastCheck = typeof import("fast-check").default;
export type { Arbitrary } from "fast-check";
