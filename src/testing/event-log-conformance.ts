/**
 * The EventLog conformance suite: every promise of the port (P1–P7), as cases that any store can run on itself.
 *
 * There are no switches by which a store could excuse itself from a case. What a store plainly has not got (a log in memory
 * cannot be reopened) is reported by the case's name as not applicable. The log may hold other data, before and after.
 */
import { randomUUID } from "node:crypto";
import type { EventLog } from "../events/event-log.ts";
import { appendCases } from "./event-log-conformance-append.ts";
import { closeCases } from "./event-log-conformance-close.ts";
import { consumeCases } from "./event-log-conformance-consume.ts";
import { fidelityCases } from "./event-log-conformance-fidelity.ts";
import { createScope, NotApplicable, type Test } from "./event-log-conformance-kit.ts";
import { modelCases } from "./event-log-conformance-model.ts";
import { readCases } from "./event-log-conformance-read.ts";
import { redeliveryCases } from "./event-log-conformance-redelivery.ts";
import { subscribeCases } from "./event-log-conformance-subscribe.ts";
import { subscriberCases } from "./event-log-conformance-subscribers.ts";
import { runnerOr, skipLoudly, type TestRunner } from "./test-runner.ts";

/** A log to be examined. Each case asks for one of its own; they may all be over the same data. */
export interface LogUnderTest {
  readonly log: EventLog;
  /** Opens the same data anew, as after a restart. The suite has closed `log` before it asks, and closes what it gets. */
  reopen?(): Promise<EventLog>;
  /** Called when the case is over, also when it failed or closed the log itself. */
  dispose(): Promise<void>;
}

export interface EventLogConformanceRunner extends TestRunner {
  /** How long a case waits for what must come before it fails, in milliseconds. Default 10,000. */
  readonly deadlineMs?: number;
}

const FEATURES: readonly (readonly [string, (test: Test) => void])[] = [
  ["append", appendCases],
  ["fidelity", fidelityCases],
  ["read", readCases],
  ["subscribe", subscribeCases],
  ["subscribers", subscriberCases],
  ["consume", consumeCases],
  ["redelivery", redeliveryCases],
  ["close", closeCases],
  ["model", modelCases],
];

/**
 * Registers the whole suite with `runner`, or with the global `describe` and `it` when none is given.
 *
 * Throws an `Error` when no runner is given and there are no such globals.
 * @example
 * eventLogConformance(() => {
 *   const log = createMemoryLog();
 *   return { log, dispose: () => log.close() };
 * }, { describe, it });
 */
export const eventLogConformance = (
  makeLog: () => Promise<LogUnderTest> | LogUnderTest,
  runner?: EventLogConformanceRunner,
): void => {
  const { describe, it } = runnerOr(runner, "eventLogConformance");
  const deadlineMs = runner?.deadlineMs ?? 10_000;
  for (const [feature, cases] of FEATURES) {
    describe(`EventLog conformance: ${feature}`, () => {
      cases((name, body) => {
        // Rest parameters, because jest and mocha take a function with a parameter for one that calls back.
        it(name, (...context) => runCase(name, body, makeLog, deadlineMs, context));
      });
    });
  }
};

const runCase = async (
  name: string,
  body: Parameters<Test>[1],
  makeLog: () => Promise<LogUnderTest> | LogUnderTest,
  deadlineMs: number,
  context: readonly unknown[],
): Promise<void> => {
  const underTest = await makeLog();
  const afterwards: (() => unknown)[] = [];
  let reason: string | undefined;
  try {
    await body(
      createScope({
        log: underTest.log,
        prefix: `conformance-${randomUUID()}-`,
        deadlineMs,
        reopen: underTest.reopen === undefined ? undefined : () => underTest.reopen!(),
        afterwards,
      }),
    );
  } catch (error) {
    if (!(error instanceof NotApplicable)) throw error;
    reason = error.message;
  } finally {
    for (const undo of afterwards.reverse()) await undo();
    await underTest.dispose();
  }
  if (reason === undefined) return;
  console.info(`not applicable: ${name} (${reason})`);
  skipLoudly(context, `not applicable: ${reason}`);
};
