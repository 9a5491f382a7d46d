import { EMPTY, type Observable } from "rxjs";
import type { Consumed, ConsumeOptions } from "../events/event-log.ts";
import type { Connection } from "./connection.ts";
import type { NameBook } from "./name-book.ts";
import type { Reader } from "./reader.ts";
import type { Trouble } from "./sqlite-errors.ts";
import type { Transaction } from "./writer.ts";

export class GroupDesk {
  listening = false;
  constructor(_connection: Connection, _reader: Reader, _names: NameBook, _options: object) {}
  consume(_group: string, _options?: ConsumeOptions): Observable<Consumed> {
    return EMPTY;
  }
  wantsTransaction(): boolean {
    return false;
  }
  ride(_transaction: Transaction): void {}
  committed(): void {}
  rolledBack(_trouble: Trouble): void {}
  tick(_foreign: boolean): void {}
  close(): void {}
}
