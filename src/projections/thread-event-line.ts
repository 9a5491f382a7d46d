/** One clear English line for an event of a thread; the rules are those of event-line. */
import type { ThreadEvent } from "../events/catalogue.ts";
import { plain, preview, quoted } from "./event-words.ts";

export const describeThreadEvent = (event: ThreadEvent): string => {
  switch (event.type) {
    case "ThreadStarted":
      return `Thread of workflow ${quoted(event.data.workflow)} begun, input ${preview(event.data.input)}`;
    case "ThreadContinued":
      return `Thread carried on by workflow ${quoted(event.data.workflow)}`;
    case "ThreadStepSettled": {
      const { key, output, recovered } = event.data;
      return recovered === undefined
        ? `Step ${quoted(key)} succeeded, result ${preview(output)}`
        : `Step ${quoted(key)} failed (${plain(recovered.error.message)}) and was recovered, result ${preview(output)}`;
    }
    case "ThreadQuestionAsked":
      return `Question ${quoted(event.data.id)} asked: ${preview(event.data.question)}`;
    case "ThreadAnswered":
      return `Question ${quoted(event.data.id)} answered with ${preview(event.data.answer)}`;
    case "ThreadPaused":
      return "Thread waits for an answer";
    case "ThreadInterrupted": {
      const { drained } = event.data;
      if (drained === undefined) return "Thread stopped by its signal";
      return `Thread drained${drained.reason === undefined ? "" : `: ${plain(drained.reason)}`}`;
    }
    case "ThreadFailed":
      return `Thread failed: ${plain(event.data.error.message)}`;
    case "ThreadCompleted":
      return `Thread completed, output ${preview(event.data.output)}`;
    case "ThreadCheckpointPut": {
      const { checkpoint, status, value } = event.data;
      return `Checkpoint ${checkpoint} put whole, status ${status}: ${preview(value)}`;
    }
    default:
      return event satisfies never;
  }
};
