/** What the commands say of a run whose key is gone. */
export const ERASED =
  "its payloads are sealed and its key is gone. Let the keys answer it again if that was a mistake; else cancel the run.";
