/** The fold of a stream of chunks, and what may be written to it: chunks until it is closed, and nothing after. */
import { right } from "fp-ts/lib/Either.js";
import { decodeSdkChunkEvent, encodeSdkChunkEvent, type SdkChunkEvent } from "../../events/sdk-chunks.ts";
import { bytesToStored } from "./event-form.ts";
import type { Decide, Fold } from "./stream-session.ts";

export interface ChunksState {
  revision: number;
  closed: boolean;
}

export const chunkFold: Fold<ChunksState, SdkChunkEvent> = {
  empty: () => ({ revision: -1, closed: false }),
  fork: (state) => ({ ...state }),
  evolve: (state, event) => {
    state.revision += 1;
    state.closed ||= event.type === "SdkChunksClosed";
  },
  encode: encodeSdkChunkEvent,
  decode: decodeSdkChunkEvent,
};

interface ChunksOf {
  readonly runId: string;
  readonly name: string;
  readonly at: number;
}

const opening = (state: ChunksState, of: ChunksOf): SdkChunkEvent[] =>
  state.revision === -1 ? [{ type: "SdkChunksOpened", data: of }] : [];

/**
 * Writes chunks in order. A step that is done again after a crash writes again what it wrote before: to a stream that it had closed
 * already, that changes nothing.
 */
export const decideWrite =
  (chunks: readonly Uint8Array[], of: ChunksOf): Decide<ChunksState, SdkChunkEvent, void> =>
  (state) =>
    right({
      events: state.closed
        ? []
        : [
            ...opening(state, of),
            ...chunks.map(
              (chunk): SdkChunkEvent => ({ type: "SdkChunkWritten", data: bytesToStored(chunk) }),
            ),
          ],
      answer: () => {},
    });

export const decideClose =
  (of: ChunksOf): Decide<ChunksState, SdkChunkEvent, void> =>
  (state) =>
    right({
      events: state.closed ? [] : [...opening(state, of), { type: "SdkChunksClosed", data: { at: of.at } }],
      answer: () => {},
    });
