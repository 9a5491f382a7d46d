/** As much of ASN.1's distinguished encoding as a certificate takes. */
const tagged = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
};

const lengthOf = (length: number): Buffer => {
  if (length < 0x80) return Buffer.from([length]);
  const digits: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) digits.unshift(rest & 0xff);
  return Buffer.from([0x80 | digits.length, ...digits]);
};

export const sequence = (...parts: readonly Uint8Array[]): Buffer => tagged(0x30, ...parts);
export const setOf = (...parts: readonly Uint8Array[]): Buffer => tagged(0x31, ...parts);
export const octets = (bytes: Uint8Array): Buffer => tagged(0x04, bytes);
export const bits = (bytes: Uint8Array): Buffer => tagged(0x03, Buffer.from([0]), bytes);
export const text = (value: string): Buffer => tagged(0x0c, Buffer.from(value, "utf8"));
export const yes = (): Buffer => tagged(0x01, Buffer.from([0xff]));
/** `[number]`, holding what it is given. */
export const context = (number: number, ...parts: readonly Uint8Array[]): Buffer =>
  tagged(0xa0 | number, ...parts);
/** `[number]` in place of a primitive's own tag. */
export const implicit = (number: number, bytes: Uint8Array): Buffer => tagged(0x80 | number, bytes);

/** Not negative, and not beginning with a set bit: the caller sees to it. */
export const integer = (bytes: Uint8Array): Buffer => tagged(0x02, bytes);

export const time = (at: Date): Buffer =>
  tagged(0x18, Buffer.from(`${at.toISOString().slice(0, 19).replaceAll(/[-T:]/g, "")}Z`, "latin1"));

export const identifier = (dotted: string): Buffer => {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const septets = [arc & 0x7f];
    for (let left = arc >>> 7; left > 0; left >>>= 7) septets.unshift((left & 0x7f) | 0x80);
    bytes.push(...septets);
  }
  return tagged(0x06, Buffer.from(bytes));
};
