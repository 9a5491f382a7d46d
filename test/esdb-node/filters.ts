/** Filters of `$all`, by stream or by type. A regular expression that is not empty wins over prefixes. */
import type { LogRecord } from "./record.ts";

export type Filter = (record: LogRecord) => boolean;

/** The part that both protocols' filter messages share. */
interface Expression {
  getRegex(): string;
  getPrefixList(): string[];
}

export interface FilterMessage {
  getStreamIdentifier(): Expression | undefined;
  getEventType(): Expression | undefined;
}

/** How a filter is kept with a persistent subscription. */
export interface FilterText {
  readonly on: "stream" | "type";
  readonly regex: string;
  readonly prefixes: readonly string[];
}

export const filterText = (message: FilterMessage | undefined): FilterText | undefined => {
  const stream = message?.getStreamIdentifier();
  const expression = stream ?? message?.getEventType();
  if (expression === undefined) return undefined;
  return {
    on: stream === undefined ? "type" : "stream",
    regex: expression.getRegex(),
    prefixes: expression.getPrefixList(),
  };
};

/** @throws SyntaxError for a regular expression that JavaScript does not know. */
export const filterOf = (text: FilterText | undefined): Filter => {
  if (text === undefined) return () => true;
  const subject = text.on === "stream" ? streamOf : typeOf;
  if (text.regex !== "") {
    const regex = new RegExp(text.regex, "u");
    return (record) => regex.test(subject(record));
  }
  const { prefixes } = text;
  return (record) => prefixes.some((prefix) => subject(record).startsWith(prefix));
};

const streamOf = (record: LogRecord): string => record.stream;
const typeOf = (record: LogRecord): string => record.type;

const HIDDEN = /^\$persistentsubscription-\$all::.*-(checkpoint|parked)$/;

/** Records that `$all` never shows: the node's own book-keeping, which would otherwise cause itself. */
export const shownInAll = (record: LogRecord): boolean =>
  record.type !== "$epoch-information" && !(record.stream.startsWith("$p") && HIDDEN.test(record.stream));
