/**
 * Which function runs under which step name. The registry is the Workflow SDK's own, a map in the symbol registry: what its compiler
 * registers is found here, and what is registered here is found by the SDK. Classes with a serialised form have the like.
 */

/** A step: any async function. `maxRetries` is how often it is tried again after a failure; default 3. */
export type StepFunction<Args extends readonly never[] = readonly never[], Result = unknown> = ((
  ...args: Args
) => Result | Promise<Result>) & {
  maxRetries?: number;
  stepId?: string;
};

type Registry<T> = Map<string, T>;

const STEPS = Symbol.for("@workflow/core//registeredSteps");
const CLASSES = Symbol.for("workflow-class-registry");

const registry = <T>(symbol: symbol): Registry<T> => {
  const holder = globalThis as unknown as Record<symbol, Registry<T> | undefined>;
  holder[symbol] ??= new Map();
  return holder[symbol];
};

/**
 * Registers a step under a name, and answers the function. The name is what events carry: it must not change while runs that use it
 * are under way. A second registration of a name replaces the first.
 */
export const registerStep = <F extends StepFunction>(
  name: string,
  fn: F,
  options: { maxRetries?: number } = {},
): F => {
  Object.defineProperty(fn, "stepId", { value: name, configurable: true, writable: true, enumerable: true });
  if (options.maxRetries !== undefined) fn.maxRetries = options.maxRetries;
  registry<StepFunction>(STEPS).set(name, fn);
  return fn;
};

/** The step of this name; `undefined` where there is none, or where what is registered cannot be called. */
export const registeredStep = (name: string): StepFunction | undefined => {
  const fn = registry<StepFunction>(STEPS).get(name);
  return typeof fn === "function" ? fn : undefined;
};

/** The class registered under an id, by the SDK's `registerSerializationClass`. */
export const registeredClass = (classId: string): object | undefined =>
  registry<object>(CLASSES).get(classId);
