/** `runstream start`: records a run for a worker to walk. */
import type { Command } from "commander";
import type { GlobalOptions } from "../command-options.ts";
import { jsonObjectArgument } from "../json-argument.ts";
import { chooseWorkflow, loadWorkflows } from "../module-workflows.ts";
import { print, printJson, tell } from "../terminal.ts";

interface StartOptions extends GlobalOptions {
  readonly input: string;
  readonly key?: string;
  readonly id?: string;
  readonly tenant?: string;
}

export const registerStart = (program: Command): void => {
  program
    .command("start")
    .summary("record a run for a worker to walk")
    .description(
      "Records a run and prints its id; a worker walks it. The module is needed to check the input against the workflow's\n" +
        "schema: nothing of it runs here. The store is made if there is none.",
    )
    .argument("<module>", ".ts or .js file that exports workflows")
    .argument("[workflow]", "which of them; not needed where there is only one")
    .option(
      "-i, --input <json>",
      "the run's input, a JSON object; @file reads a file, @- standard input",
      "{}",
    )
    .option("--key <key>", "your own key of the run, not unique")
    .option("--id <id>", "your own id of the run, unique in the store")
    .option("--tenant <tenant>", "whom the run belongs to")
    .addHelpText("after", EXAMPLES)
    .action(async (module: string, workflow: string | undefined, _options, command: Command) => {
      await start(module, workflow, command.optsWithGlobals<StartOptions>());
    });
};

const EXAMPLES = `
Examples:
  $ runstream start greet.ts --input '{"name":"Ada"}'
  $ id=$(runstream start orders.ts fulfil --input @order.json --key order/17)`;

const start = async (module: string, named: string | undefined, options: StartOptions): Promise<void> => {
  const input = jsonObjectArgument("--input", options.input);
  const workflows = await loadWorkflows(module);
  const workflow = chooseWorkflow(workflows, named, module);
  const { openRunstream } = await import("../../embedded/runstream.ts");
  const runstream = openRunstream({ store: options.db, workflows });
  try {
    const { key, id, tenant } = options;
    const runId = await runstream.start(workflow, input, {
      ...(id !== undefined && { runId: id }),
      ...(key !== undefined && { key }),
      ...(tenant !== undefined && { tenant }),
    });
    await (options.json ? printJson({ runId, workflow }) : print(runId));
    if (!options.json) tell(`A worker walks it: runstream worker ${module} --db ${options.db}`);
  } finally {
    await runstream.stop();
  }
};
