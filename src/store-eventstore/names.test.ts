import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readName, writeName, writePrefixes } from "./names.ts";

const name = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.constantFrom("%", "$", "\ud83d", "\ude80", "a", "%0025", "-")).map((parts) => parts.join("")),
);

describe("names on the server", () => {
  it("N1 ordinary names are written as they are", () => {
    for (const plain of ["run-7", "hook-a%2fb", "RunCreated", "世界🚀", "a$b", " "])
      expect(writeName(plain)).toBe(plain);
  });

  it("N2 names the server would refuse or keep to itself are written with a percent sign in front", () => {
    expect(["", "$all", "%", "a\ud800"].map(writeName)).toEqual(["%", "%$all", "%%0025", "%a%d800"]);
  });

  it("N2 every name comes back, and no two are written alike", () => {
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect(readName(writeName(a))).toBe(a);
        expect(writeName(a).isWellFormed()).toBe(true);
        expect(writeName(a).startsWith("$") || writeName(a) === "").toBe(false);
        expect(writeName(a) === writeName(b)).toBe(a === b);
      }),
    );
  });

  it("N3 names that none is written as are somebody else's", () => {
    for (const foreign of ["$streams", "$$run-7", "%run-7", "%%", ""])
      expect(readName(foreign)).toBeUndefined();
  });

  it("whatever begins with a prefix is written with one of the prefixes for it", () => {
    fc.assert(
      fc.property(name, name, fc.nat(), (whole, other, length) => {
        const prefix = whole.slice(0, length % (whole.length + 1));
        const written = writePrefixes(prefix);
        for (const one of [whole, prefix, prefix + other])
          expect(written?.some((start) => writeName(one).startsWith(start)) ?? true).toBe(true);
      }),
    );
  });
});
