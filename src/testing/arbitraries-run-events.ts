/**
 * Arbitrary lives of a run, as events: what a stream can hold that was written by deciding each event on those before it.
 *
 * A life is drawn as a list of moves (run-life.ts), so a shorter list is a shorter life.
 */
import type { RunEvent } from "../events/catalogue.ts";
import { oddText, payloadValue } from "./arbitraries-values.ts";
import type { Arbitrary, FastCheck } from "./fast-check-module.ts";
import { type Creation, liveThrough, MOVES, type Move } from "./run-life.ts";

/**
 * The events of a run's stream, from `RunCreated` on, in an order in which they can have been decided: at most one end, and nothing
 * after it; each key settled at most once, and only after a claim. About half of the lives are over. Shrinks to `RunCreated` alone.
 */
export const runLife = (fc: FastCheck): Arbitrary<readonly RunEvent[]> => {
  const name = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("a", "b", "c") },
    { weight: 1, arbitrary: oddText(fc) },
  );
  const move = fc.record<Move>(
    {
      does: fc.oneof(
        { weight: 12, arbitrary: fc.constantFrom(...MOVES.slice(0, 11)) },
        { weight: 1, arbitrary: fc.constantFrom(...MOVES.slice(11)) },
      ),
      pick: fc.nat({ max: 5_000 }),
      text: name,
      value: payloadValue(fc),
      ok: fc.boolean(),
      later: fc.nat({ max: 1_000 }),
    },
    { noNullPrototype: true },
  );
  const created = fc.record<Creation>({
    workflow: name,
    input: payloadValue(fc),
    createdAt: fc.nat({ max: 2_000_000_000_000 }),
    codeVersion: fc.option(name, { nil: undefined }),
    key: fc.option(name, { nil: undefined }),
  });
  return fc
    .tuple(created, fc.array(move, { maxLength: 40 }))
    .map(([creation, made]) => liveThrough(creation, made));
};
