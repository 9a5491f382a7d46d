/** What `make` answers, made when it is asked for first; made anew only where making it has failed. */
export const onDemand = <T extends object>(make: () => T): (() => T) => {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
};
