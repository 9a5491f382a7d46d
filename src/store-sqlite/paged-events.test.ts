import { describe, expect, test } from "vitest";
import type { RecordedEvent } from "../events/event-log.ts";
import { type EventPage, PagedEvents } from "./paged-events.ts";

const event = (revision: number): RecordedEvent => ({ revision }) as RecordedEvent;

/** Pages of the revisions given; the last one says that it is. */
const paged = (...pages: readonly (readonly number[] | Error)[]) => {
  let loads = 0;
  const load = (): EventPage => {
    const page = pages[loads];
    loads += 1;
    if (page === undefined) throw new Error("There is no further page.");
    if (page instanceof Error) throw page;
    return { events: page.map(event), atEnd: loads === pages.length };
  };
  const events = new PagedEvents(load);
  return { events, loads: () => loads };
};

const revisions = async (events: AsyncIterable<RecordedEvent>): Promise<number[]> => {
  const found: number[] = [];
  for await (const { revision } of events) found.push(revision);
  return found;
};

describe("events that are read page by page", () => {
  test("come in order, whatever the pages hold", async () => {
    expect(await revisions(paged([0, 1], [], [2], [3, 4]).events)).toEqual([0, 1, 2, 3, 4]);
    expect(await revisions(paged([]).events)).toEqual([]);
    expect(await revisions(paged([0], []).events)).toEqual([0]);
  });

  test("are read when somebody asks, a page in one go, the next one a turn later", async () => {
    const { events, loads } = paged([0, 1], [2]);
    expect(loads()).toBe(0);
    const first = events.next();
    expect(loads()).toBe(1);
    await first;
    await events.next();
    const third = events.next();
    await Promise.resolve();
    expect(loads()).toBe(1);
    expect(await third).toEqual({ done: false, value: event(2) });
    expect(loads()).toBe(2);
  });

  test("go to those who ask at once in the order in which they asked", async () => {
    const { events } = paged([0], [1, 2], [3]);
    const asked = await Promise.all(Array.from({ length: 6 }, () => events.next()));
    expect(asked.map(({ value }) => value?.revision)).toEqual([0, 1, 2, 3, undefined, undefined]);
    expect(asked.map(({ done }) => done)).toEqual([false, false, false, false, true, true]);
  });

  test("end where a page cannot be read, with its error", async () => {
    const damaged = new Error("damaged");
    for (const pages of [[damaged], [[0], damaged]]) {
      const { events, loads } = paged(...pages, [9]);
      const found: number[] = [];
      const reading = (async () => {
        for await (const { revision } of events) found.push(revision);
      })();
      await expect(reading).rejects.toBe(damaged);
      expect(found).toEqual(pages.length === 1 ? [] : [0]);
      const before = loads();
      expect(await events.next()).toEqual({ done: true, value: undefined });
      expect(loads()).toBe(before);
    }
  });

  test("end where somebody leaves", async () => {
    const { events, loads } = paged([0, 1], [2]);
    for await (const _ of events) break;
    expect(await revisions(events)).toEqual([]);
    expect(loads()).toBe(1);
  });

  test("end where somebody leaves while the next page is waited for", async () => {
    const { events, loads } = paged([0], [1]);
    await events.next();
    const next = events.next();
    await events.return();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(loads()).toBe(1);
  });
});
