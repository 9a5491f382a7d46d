/**
 * What ends a run's function from inside without being its failure: a question without an answer, and a drain. They are thrown into the
 * body and are never recorded, retried or given to `onError` (law L9).
 */

/** A question has no answer yet. */
export class Suspension extends Error {
  override readonly name = "Suspension";

  constructor(id: string) {
    super(`The run ends here until question ${JSON.stringify(id)} is answered. Let this pass.`);
  }
}

/** The run is being drained: no further step begins. */
export class DrainRefusal extends Error {
  override readonly name = "DrainRefusal";

  constructor(key: string) {
    super(`Step ${JSON.stringify(key)} does not begin: the run is being drained. Let this pass.`);
  }
}
