/** `runstream start`: records a run for a worker to walk. */
import type { Command } from "commander";
import { commandHint } from "../command-hint.ts";
import { type StartedRunOptions, startedRun } from "../command-options.ts";
import { jsonObjectArgument } from "../json-argument.ts";
import { chooseWorkflow, loadWorkflows } from "../module-workflows.ts";
import { openRunstreamOn } from "../store.ts";
import { print, printJson, tell } from "../terminal.ts";

export const registerStart = (program: Command): void => {
  startedRun(program.command("start"))
    .summary("record a run for a worker to walk")
    .description(
      "Records a run and prints its id; a worker walks it. The module is needed to check the input against the workflow's " +
        "schema: nothing of it runs here. The store is made if there is none.",
    )
    .addHelpText("after", EXAMPLES)
    .action(async (module: string, workflow: string | undefined, _options, command: Command) => {
      await start(module, workflow, command.optsWithGlobals<StartedRunOptions>());
    });
};

const EXAMPLES = `
Examples:
  $ runstream start greet.ts --input '{"name":"Ada"}'
  $ id=$(runstream start orders.ts fulfil --input @order.json --key order/17)`;

const start = async (
  module: string,
  named: string | undefined,
  options: StartedRunOptions,
): Promise<void> => {
  const input = jsonObjectArgument("--input", options.input);
  const workflows = await loadWorkflows(module);
  const workflow = chooseWorkflow(workflows, named, module);
  const { runstream, close } = await openRunstreamOn(options, { workflows });
  try {
    const { key, id, tenant } = options;
    const runId = await runstream.start(workflow, input, {
      ...(id !== undefined && { runId: id }),
      ...(key !== undefined && { key }),
      ...(tenant !== undefined && { tenant }),
    });
    await (options.json ? printJson({ runId, workflow }) : print(runId));
    if (!options.json) tell(`A worker walks it: ${commandHint(["worker", module], options.store)}`);
  } finally {
    await close();
  }
};
