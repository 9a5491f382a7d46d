/**
 * The `Retry-After` header of an HTTP answer: seconds, or one of the three date forms a recipient has to understand. Not a general date
 * parser: the language's own accepts a great deal of nonsense, which would turn into a wait nobody asked for.
 */
const LAST_INSTANT = 8.64e15;

const IMF_FIXDATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const RFC_850 = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/** The instant the header names, `now` in epoch milliseconds; `undefined` where there is none or it is not one. */
export const parseRetryAfter = (header: string | null | undefined, now: number): Date | undefined => {
  const text = header?.trim();
  if (text === undefined || text === "") return undefined;
  if (/^\d+$/.test(text)) return new Date(Math.min(now + Number(text) * 1000, LAST_INSTANT));
  const dated =
    IMF_FIXDATE.test(text) || RFC_850.test(text) ? text : ASCTIME.test(text) ? `${text} GMT` : undefined;
  const at = dated === undefined ? Number.NaN : Date.parse(dated);
  return Number.isNaN(at) ? undefined : new Date(at);
};
