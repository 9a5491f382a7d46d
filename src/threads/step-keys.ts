/**
 * The keys under which results and questions are known: the name for the first call of a name, `name#2` for the second, and so on, in
 * the order of the calls.
 *
 * Invariant: two calls never have one key, whatever the names. A name that could be read as another one's repetition (it ends like `#2`),
 * or that holds the mark of this escape, has its `#` and `\` marked by `\`: the first call of `a#2` has the key `a\#2`.
 */
const AMBIGUOUS = /\\|#\d+$/;

const written = (name: string): string => (AMBIGUOUS.test(name) ? name.replaceAll(/[\\#]/g, "\\$&") : name);

export class StepKeys {
  readonly #calls = new Map<string, number>();

  /** The key of the next call of `name`. */
  next(name: string): string {
    const call = (this.#calls.get(name) ?? 0) + 1;
    this.#calls.set(name, call);
    return call === 1 ? written(name) : `${written(name)}#${call}`;
  }
}
