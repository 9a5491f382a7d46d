/** What the commands say of a run, or a thread, whose key is gone. */
export const ERASED =
  "its payloads are sealed and its key is gone. Let the keys answer it again if that was a mistake; a run can be cancelled else.";
