/** CliError: something to tell the person at the terminal, and the exit code that goes with it. Shown without a stack trace. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
  }
}

/** What was asked cannot be done as it was asked: a wrong argument, module, workflow or input. */
export const usageError = (message: string, cause?: unknown): CliError =>
  new CliError(message, EXIT.usage, cause);

/** What the exit code of a command says. */
export const EXIT = {
  /** Done; of a run: completed. */
  ok: 0,
  /** Not done; of a run: failed. */
  failed: 1,
  usage: 2,
  cancelled: 3,
  /** The run waits, and `--detach-when-parked` said not to wait with it. */
  parked: 4,
  interrupted: 130,
  terminated: 143,
} as const;
