/**
 * Conformance against a model: random appends and reads, answered by the log and by a list of arrays, must agree.
 *
 * A failure names its seed; `RUNSTREAM_CONFORMANCE_SEED=<seed>` runs that history again.
 */
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import type { EventData, ExpectedRevision, ReadOptions } from "../events/event-log.ts";
import { collect, event, ids, ours, type Scope, type Test, upTo } from "./event-log-conformance-kit.ts";

export const modelCases = (test: Test): void => {
  test("P1 P2 P3 random appends and reads are answered as a plain model answers them", async (scope) => {
    const given = process.env.RUNSTREAM_CONFORMANCE_SEED;
    const seeds = given === undefined ? [1, 2, 3, randomInt(2 ** 31)] : [Number(given)];
    for (const [n, seed] of seeds.entries()) {
      try {
        await history(scope, `h${n}-`, randomOf(seed));
      } catch (cause) {
        const again = `RUNSTREAM_CONFORMANCE_SEED=${seed}`;
        throw new Error(`history of seed ${seed} (${again}): ${(cause as Error).message}`, { cause });
      }
    }
  });
};

/** A whole number from 0 up to, not with, `bound`. */
type Random = (bound: number) => number;

interface Model {
  readonly streams: Map<string, EventData[]>;
  readonly all: EventData[];
}

const history = async (scope: Scope, label: string, random: Random): Promise<void> => {
  const before = await scope.log.head();
  const model: Model = { streams: new Map(), all: [] };
  const names = upTo(3).map((n) => scope.stream(label + n));
  for (const _ of upTo(80)) {
    const stream = names[random(names.length)]!;
    if (random(3) > 0) await appendBoth(scope, model, stream, random);
    else await readBoth(scope, model, stream, random);
  }
  assert.deepEqual(ids(await ours(scope, before)), ids(model.all));
  for (const stream of names) {
    assert.deepEqual(ids(await collect(scope.log.read(stream))), ids(model.streams.get(stream) ?? []));
  }
};

const appendBoth = async (scope: Scope, model: Model, stream: string, random: Random): Promise<void> => {
  const written = model.streams.get(stream) ?? [];
  const last = written.length - 1;
  const choices: ExpectedRevision[] = ["none", "any", last, last, last, last - 1, last + 1, random(20)];
  const expected = choices[random(choices.length)]!;
  const events = upTo(random(4)).map((n) => event(`T${random(3)}`, { n }));
  const holds = expected === "any" || (expected === "none" ? last === -1 : last >= 0 && expected === last);
  const what = `append of ${events.length} to ${stream} at ${last}, expected ${expected}`;
  const answer = await scope.within(scope.log.append(stream, expected, events)(), what);
  if (!holds) {
    const actual = last === -1 ? "none" : last;
    assert.deepEqual(answer, { _tag: "Left", left: { _tag: "WrongExpectedRevision", stream, actual } }, what);
    return;
  }
  assert.equal(answer._tag === "Right" && answer.right.revision, last + events.length, what);
  model.all.push(...events);
  model.streams.set(stream, [...written, ...events]);
};

const readBoth = async (scope: Scope, model: Model, stream: string, random: Random): Promise<void> => {
  const written = (model.streams.get(stream) ?? []).map((one, revision) => ({ id: one.id, revision }));
  const direction = random(2) === 0 ? "forwards" : "backwards";
  const from = random(2) === 0 ? undefined : random(written.length + 2);
  const max = random(2) === 0 ? undefined : random(6);
  const options: ReadOptions = {
    direction,
    ...(from === undefined ? {} : { from }),
    ...(max === undefined ? {} : { max }),
  };
  const within =
    direction === "forwards"
      ? written.filter(({ revision }) => revision >= (from ?? 0))
      : written.filter(({ revision }) => revision <= (from ?? written.length)).toReversed();
  const read = (await collect(scope.log.read(stream, options))).map(({ id, revision }) => ({ id, revision }));
  assert.deepEqual(read, within.slice(0, max), `read of ${stream} with ${JSON.stringify(options)}`);
};

/** Mulberry32: small, and the same everywhere for the same seed. */
const randomOf = (seed: number): Random => {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
};
