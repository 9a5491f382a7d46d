/** The journal of a walk, with every failure of a call made known to the walk as well as to the caller: a body may swallow it (law L9). */
import type { WalkJournal } from "./walk-journal.ts";

export const watchedJournal = (journal: WalkJournal, note: (error: unknown) => void): WalkJournal => {
  const watch = <T>(promise: Promise<T>): Promise<T> => {
    promise.catch(note);
    return promise;
  };
  const call =
    <A extends unknown[], R>(method: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      watch(method(...args));
  return {
    ...journal,
    inside: {
      settle: call(journal.inside.settle),
      readStep: call(journal.inside.readStep),
      claimAttempt: call(journal.inside.claimAttempt),
      releaseAttempt: call(journal.inside.releaseAttempt),
    },
    settle: (entry) => {
      const settling = journal.settle(entry);
      watch(settling.recorded);
      return settling;
    },
    readStep: call(journal.readStep),
    claimAttempt: call(journal.claimAttempt),
    releaseAttempt: call(journal.releaseAttempt),
    reachSleep: call(journal.reachSleep),
    claimHook: call(journal.claimHook),
    closeHook: call(journal.closeHook),
    drain: call(journal.drain),
  };
};
