/**
 * Where the events of recent appends were written, by id: all that a server knows about ids when no revision is expected.
 *
 * It is bounded and in memory only, so that a repetition that comes late or after a restart is not recognised. An id that is written to two
 * streams is known in the later one only.
 */
export interface Written {
  readonly stream: string;
  readonly revision: number;
}

/** What a real server gives to it. */
export const ID_CACHE_BYTES = 8 * 1024 * 1024;

export class IdCache {
  readonly #limit: number;
  readonly #written = new Map<string, Written>();
  #bytes = 0;

  constructor(limitBytes: number = ID_CACHE_BYTES) {
    this.#limit = limitBytes;
  }

  find(id: string): Written | undefined {
    return this.#written.get(id);
  }

  add(id: string, stream: string, revision: number): void {
    this.#remove(id);
    this.#written.set(id, { stream, revision });
    this.#bytes += sizeOf(stream);
    for (const oldest of this.#written.keys()) {
      if (this.#bytes <= this.#limit) return;
      this.#remove(oldest);
    }
  }

  #remove(id: string): void {
    const known = this.#written.get(id);
    if (known === undefined) return;
    this.#written.delete(id);
    this.#bytes -= sizeOf(known.stream);
  }
}

/** An id, a revision, a position and the stream's name in UTF-16. */
const sizeOf = (stream: string): number => 28 + 2 * stream.length;
