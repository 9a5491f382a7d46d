/**
 * Seeds whose histories once broke a law, each with what it took. They are lived through on every run.
 *
 * A seed means its history only as long as a world draws from it in the same order: who changes what a world or a program draws has to
 * look for such histories again, with the defect put back, or keep the number as the ordinary seed that it then is. A new kind of world
 * therefore has seeds of its own, from some number on (world.ts), and draws nothing in the others.
 */
export const GOLDEN_SEEDS: readonly (readonly [seed: number, story: string])[] = [
  [
    2,
    "L3: a step began while another branch had been told a result that was still on its way into the stream",
  ],
  [
    27,
    "a delivery hung for ever: its walk was overtaken while a step waited for a step inside it, which nobody answered any more",
  ],
  [
    138,
    "a healthy run was refused as diverged, because the claim that spoke for it was older than its lease when the run was taken up again",
  ],
  [191, "L9: the store failed inside a step, and the step was tried again until its budget was spent"],
  [
    1243,
    "a healthy run was refused as diverged: by the clocks, a step inside a step had finished after the outer one",
  ],
  [
    1368,
    "a healthy run was refused as diverged by what was recorded inside a step that had yet to be run again",
  ],
  [
    2407,
    "a body caught the refusal of an abandoned step and went on: what it ran then was recorded, and the refusal was overtaken",
  ],
  [
    2643,
    "a body caught a store failure at a wait and went on: what it ran then was recorded, and followed from nothing in the stream",
  ],
  [
    3194,
    "a healthy run was refused as diverged: a read had passed the full step gate, where the step asked for before it still waited",
  ],
  [
    5468,
    "L1: a run ended on its own result of a step whose result in the stream was somebody else's, and came before what had ended the run",
  ],
  [
    14_401,
    "a step inside a step was refused as abandoned, and the refusal was recorded as the outer step's failure, which a later walk caught",
  ],
  [
    44_601,
    "L3: a step began on a result that lost to somebody else's, because what was settled after it had reached the stream",
  ],
  [
    5548,
    "a walk suspended in the middle of a turn: the winner of a race had been handed over, and the body had not reacted yet",
  ],
  [
    509_903,
    "a healthy run was refused as diverged: a read that followed from a value of another read, which lost, was recorded all the same",
  ],
];

/** Stands for the programs of all golden seeds, in their order: what they were when the seeds were taken up. */
export const GOLDEN_PROGRAMS = "c9c35871e40168ff";
