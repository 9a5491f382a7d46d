/**
 * The frames of a stream: four bytes of length, big endian, then so many bytes. A frame is one chunk of the World's stream when it is
 * written; when it is read it may come in pieces, or several at once.
 */
const HEADER_BYTES = 4;

/** No frame is larger, in bytes: a longer one means that the bytes are no frames at all. */
export const FRAME_LIMIT_BYTES = 256 * 1024 * 1024;

/** The bytes, with their length in front. */
export const frame = (bytes: Uint8Array): Uint8Array => {
  const out = new Uint8Array(HEADER_BYTES + bytes.byteLength);
  new DataView(out.buffer).setUint32(0, bytes.byteLength);
  out.set(bytes, HEADER_BYTES);
  return out;
};

/** Gathers pieces and gives out whole frames. */
export class Unframer {
  #held = new Uint8Array(0);

  /** The frames that are complete now. Throws `RangeError` for a length that no frame has. */
  push(piece: Uint8Array): Uint8Array[] {
    const bytes = new Uint8Array(this.#held.byteLength + piece.byteLength);
    bytes.set(this.#held);
    bytes.set(piece, this.#held.byteLength);
    const frames: Uint8Array[] = [];
    let at = 0;
    while (bytes.byteLength - at >= HEADER_BYTES) {
      const length = new DataView(bytes.buffer, at).getUint32(0);
      if (length > FRAME_LIMIT_BYTES) {
        throw new RangeError(
          `A frame of ${length} bytes was announced: the stream is not framed, or is damaged`,
        );
      }
      if (bytes.byteLength - at - HEADER_BYTES < length) break;
      frames.push(bytes.subarray(at + HEADER_BYTES, at + HEADER_BYTES + length));
      at += HEADER_BYTES + length;
    }
    this.#held = bytes.slice(at);
    return frames;
  }

  /** Forgets an incomplete frame. */
  reset(): void {
    this.#held = new Uint8Array(0);
  }
}
