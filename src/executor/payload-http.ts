/** Requests and responses in a payload. Their bodies are streams, so they can only be carried where streams can. */
import type { PayloadType } from "./payload-values.ts";

interface WrittenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: ReadableStream | null;
  readonly signal?: AbortSignal;
}

interface WrittenResponse {
  readonly type: string;
  readonly url: string;
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly body: ReadableStream | null;
  readonly redirected: boolean;
}

const readRequest = ({ method, url, headers, body, signal }: WrittenRequest): Request =>
  new Request(url, {
    method,
    headers,
    ...(body === null ? {} : { body, duplex: "half" as const }),
    ...(signal === undefined ? {} : { signal }),
  });

const readResponse = ({
  type,
  url,
  status,
  statusText,
  headers,
  body,
  redirected,
}: WrittenResponse): Response => {
  if (type === "error") return Response.error();
  const response = new Response(body, { status, statusText, headers });
  Object.defineProperties(response, {
    type: { value: type },
    url: { value: url },
    redirected: { value: redirected },
  });
  return response;
};

/** The types of HTTP. */
export const PAYLOAD_HTTP: Readonly<Record<string, PayloadType>> = {
  Request: {
    write: (value) => {
      if (!(value instanceof Request)) return undefined;
      const { method, url, headers, body } = value;
      return { method, url, headers, body, duplex: "half" };
    },
    read: readRequest,
  },
  Response: {
    write: (value) => {
      if (!(value instanceof Response)) return undefined;
      const { type, url, status, statusText, headers, body, redirected } = value;
      return { type, url, status, statusText, headers, body, redirected };
    },
    read: readResponse,
  },
};
