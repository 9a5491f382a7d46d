/** A law that a history broke. */
export class Violation extends Error {
  override readonly name = "Violation";
  readonly law: string;

  constructor(law: string, message: string) {
    super(`${law}: ${message}`);
    this.law = law;
  }
}
