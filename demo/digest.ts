/**
 * The demo's workflow: a digest of a shelf of Markdown files, reviewed by a person or filed without, when nobody answers in time.
 *
 * An ordinary workflow module, which the command line takes too. What the steps really do is in documents.ts.
 */
import { join, resolve } from "node:path";
import { workflow } from "../src/index.ts";
import { documentsOf, fileDigest, indexOf, readDocument, type Shelf, shelves } from "./documents.ts";
import { witness } from "./witness.ts";

export interface DigestInput {
  readonly shelf: Shelf;
  /** The folder whose documents are read. Default: the current one. */
  readonly root?: string;
  /** Where the digest is filed. Default: `demo-output` in `root`. */
  readonly output?: string;
  /** How long a reviewer has, in milliseconds. Default five minutes. */
  readonly reviewMs?: number;
}

export interface Review {
  readonly approved: boolean;
  readonly by: string;
}

/** The wait of a shelf's run for its reviewer is answered under this token. */
export const reviewToken = (shelf: Shelf): string => `review/${shelf}`;

/** The demo kills workers in the middle of steps, and each kill uses up one try of whatever was under way. */
const MAX_ATTEMPTS = 12;

export const digest = workflow({
  description: "Reads a shelf of Markdown files, builds an index, waits for a reviewer and files the result.",
  async run(input: Record<string, unknown>, ctx) {
    const { shelf, root, output, reviewMs } = checked(input);
    const options = { maxAttempts: MAX_ATTEMPTS };
    const observed = <T>(body: () => Promise<T>): (() => Promise<T>) => witness(output, ctx.runId, body);

    const paths = await ctx.step(
      "find the documents",
      observed(() => documentsOf(shelf, root)),
      options,
    );
    const documents = await Promise.all(
      paths.map((path) =>
        ctx.step(
          "digest a document",
          observed(() => readDocument(root, path)),
          options,
        ),
      ),
    );
    const index = await ctx.step(
      "build the index",
      observed(async () => indexOf(shelf, documents)),
      options,
    );
    await ctx.sleep("let it rest", 400);
    const review = await ctx.waitFor<Review>(reviewToken(shelf), { timeoutMs: reviewMs });
    const filed = await ctx.step(
      "file the digest",
      observed(() => fileDigest(output, index, verdictOf(review))),
      options,
    );
    return { shelf, documents: documents.length, words: index.words, verdict: verdictOf(review), ...filed };
  },
});

const verdictOf = (review: Review | undefined): string => {
  if (review === undefined) return "unreviewed";
  return `${review.approved ? "approved" : "rejected"} by ${review.by}`;
};

const checked = (input: Record<string, unknown>): Required<DigestInput> => {
  const { shelf, root = ".", output, reviewMs = 300_000 } = input as Partial<DigestInput>;
  if (shelf === undefined || !shelves.includes(shelf))
    throw new TypeError(`Input "shelf" must be one of: ${shelves.join(", ")}.`);
  return { shelf, root: resolve(root), output: resolve(output ?? join(root, "demo-output")), reviewMs };
};
