/** The version of the World's protocol that this executor speaks, and what came with which version. */

/** On every event that the executor writes. A World must have exactly this one. */
export const SPEC_VERSION = 5;

/** Runs of this version and later may have compressed payloads. */
export const COMPRESSION_SPEC_VERSION = 5;
