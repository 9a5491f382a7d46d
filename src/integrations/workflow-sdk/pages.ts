/** Pages of lists. A cursor is opaque to callers: here it is the place of the last item, and the next page begins strictly after it. */
import { WorkflowWorldError } from "../../executor/world-errors.ts";
import type { PaginatedResponse, PaginationOptions } from "../../executor/world-events.ts";

/** The most that a page holds, and what it holds where a caller of events asks for nothing else. */
export const MAX_PAGE = 1_000;

export const pageLimit = ({ limit }: PaginationOptions, otherwise: number): number =>
  limit === undefined || !(limit >= 1) ? otherwise : Math.min(Math.floor(limit), MAX_PAGE);

/** The refusal of a cursor that no page answered. */
export const foreignCursor = (cursor: string): WorkflowWorldError =>
  new WorkflowWorldError(`The cursor ${JSON.stringify(cursor)} is none of this World's. Begin without one.`, {
    status: 400,
  });

/** The place that a cursor names. Throws a WorkflowWorldError of status 400 for one that no page answered. */
export const placeOf = (cursor: string): number => {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw foreignCursor(cursor);
};

/**
 * A page of `items`, each at the place of its index. The cursor is on every page that holds something, the last one included.
 * `keep` says which items belong to the list.
 */
export const pageOf = <T>(
  items: { readonly length: number; readonly [index: number]: T },
  pagination: PaginationOptions,
  { limit, descending, keep }: { limit: number; descending: boolean; keep?: (item: T) => boolean },
): PaginatedResponse<T> => {
  const most = pageLimit(pagination, limit);
  const step = descending ? -1 : 1;
  const { cursor } = pagination;
  const first = descending ? items.length - 1 : 0;
  const data: T[] = [];
  let last: number | undefined;
  for (
    let place = cursor === undefined ? first : placeOf(cursor) + step;
    place >= 0 && place < items.length;
    place += step
  ) {
    const item = items[place] as T;
    if (keep !== undefined && !keep(item)) continue;
    if (data.length === most) return { data, cursor: String(last), hasMore: true };
    data.push(item);
    last = place;
  }
  return { data, cursor: last === undefined ? null : String(last), hasMore: false };
};
