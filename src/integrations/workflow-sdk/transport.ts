/**
 * The way of a message from the queue to the application: a POST to its flow route, and the handler at the other end.
 *
 * The body is the message as JSON; what JSON cannot say about it (bytes) stands beside it under `$types`. Node's own client is used
 * rather than `fetch`, because a step may take longer than the five minutes that `fetch` waits for an answer.
 */
import { Agent as HttpAgent, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isRight, tryCatch } from "fp-ts/lib/Either.js";
import { decodePayload, type Payload } from "../../events/payload.ts";
import type { Queue } from "../../executor/world.ts";

const QUEUE_HEADER = "x-runstream-queue";
const MESSAGE_HEADER = "x-runstream-message";
const ATTEMPT_HEADER = "x-runstream-attempt";
const TYPES = "$types";
const QUEUE_NAME = /^__(?:[a-z][a-z0-9]*_)?wkf_(workflow|step)_.+$/;
const KEEP_ALIVE_MS = 30_000;

export interface Delivery {
  readonly messageId: string;
  readonly queue: string;
  readonly message: Payload;
  readonly headers: Readonly<Record<string, string>>;
  /** 1 at the first delivery. */
  readonly attempt: number;
}

/** What came of a delivery. */
export type Delivered =
  | { readonly _tag: "Handled" }
  /** The same message again, after so many milliseconds. */
  | { readonly _tag: "Again"; readonly afterMs: number }
  /** The application answered with an error. */
  | { readonly _tag: "Failed"; readonly reason: string }
  /** The application was not reached, so this was no attempt. */
  | { readonly _tag: "Unreached"; readonly reason: string };

export interface Transport {
  deliver(delivery: Delivery): Promise<Delivered>;
  /** Closes the connections that are kept. */
  close(): void;
}

/** The kind of a queue, by its name; `undefined` for a name that the SDK does not make. */
export const queueKind = (name: string): "workflow" | "step" | undefined =>
  QUEUE_NAME.exec(name)?.[1] as "workflow" | "step" | undefined;

/** `baseUrl` is asked at each delivery: a server's port may be known late. */
export const createTransport = (baseUrl: () => string): Transport => {
  const http = new HttpAgent({ keepAlive: true, keepAliveMsecs: KEEP_ALIVE_MS });
  const https = new HttpsAgent({ keepAlive: true, keepAliveMsecs: KEEP_ALIVE_MS });

  const post = (url: URL, headers: Record<string, string>, body: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const secure = url.protocol === "https:";
      const options = { method: "POST", headers, agent: secure ? https : http };
      const request = (secure ? httpsRequest : httpRequest)(url, options, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
        );
      });
      request.on("error", reject);
      request.end(body);
    });

  return {
    async deliver({ messageId, queue, message, headers, attempt }) {
      const body = bodyOf(message);
      const url = new URL(`.well-known/workflow/v1/${routeOf(queue)}`, asFolder(baseUrl()));
      const sent = {
        ...headers,
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(body)),
        [QUEUE_HEADER]: encodeURIComponent(queue),
        [MESSAGE_HEADER]: messageId,
        [ATTEMPT_HEADER]: String(attempt),
      };
      try {
        return delivered(await post(url, sent, body));
      } catch (error) {
        return { _tag: "Unreached", reason: `${url.origin}: ${reasonOf(error)}` };
      }
    },
    close: () => {
      http.destroy();
      https.destroy();
    },
  };
};

interface Answer {
  readonly status: number;
  readonly text: string;
}

const asFolder = (base: string): string => (base.endsWith("/") ? base : `${base}/`);

const routeOf = (queue: string): string => (queueKind(queue) === "step" ? "step" : "flow");

const reasonOf = (error: unknown): string => {
  const { code, message } = error as { code?: string; message?: string };
  return message === undefined || message === "" ? (code ?? String(error)) : message;
};

const delivered = ({ status, text }: Answer): Delivered => {
  if (status < 200 || status > 299)
    return { _tag: "Failed", reason: `HTTP ${status} ${text.slice(0, 500)}`.trim() };
  const answer = tryCatch(
    () => JSON.parse(text) as { timeoutSeconds?: unknown } | null,
    () => undefined,
  );
  const again = isRight(answer) ? answer.right?.timeoutSeconds : undefined;
  return typeof again === "number" && again >= 0
    ? { _tag: "Again", afterMs: again * 1_000 }
    : { _tag: "Handled" };
};

const bodyOf = ({ json, types }: Payload): string =>
  JSON.stringify(types === undefined ? json : { ...(json as object), [TYPES]: types });

const fromBody = (text: string): unknown => {
  const { [TYPES]: types, ...json } = JSON.parse(text);
  return decodePayload(types === undefined ? { json } : { json, types }, "message");
};

/** The other end: hands what was posted to `handler`, and answers what it answers. Needs no store. */
export const createQueueHandler: Queue["createQueueHandler"] = (prefix, handler) => async (request) => {
  const queueName = decodeURIComponent(request.headers.get(QUEUE_HEADER) ?? "");
  const messageId = request.headers.get(MESSAGE_HEADER) ?? "";
  const attempt = Number(request.headers.get(ATTEMPT_HEADER));
  if (queueName === "" || messageId === "" || !(attempt >= 1))
    return Response.json({ error: "This route takes messages of Runstream's queue only." }, { status: 400 });
  if (!queueName.startsWith(prefix))
    return Response.json({ error: `This route takes queues ${prefix}… only.` }, { status: 400 });
  try {
    const result = await handler(fromBody(await request.text()), { attempt, queueName, messageId });
    return Response.json(result === undefined ? { ok: true } : { timeoutSeconds: result.timeoutSeconds });
  } catch (error) {
    return Response.json({ error: String(error) }, { status: 500 });
  }
};
