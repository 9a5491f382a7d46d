/**
 * A certificate authority of its own and a certificate for this machine, for a node that speaks TLS in a test.
 *
 * They are worth nothing anywhere else: the keys lie in the open and live for a day.
 */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  bits,
  context,
  identifier,
  implicit,
  integer,
  octets,
  sequence,
  setOf,
  text,
  time,
  yes,
} from "./der.ts";

/** All as PEM. */
export interface Certificates {
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

const DAY_MS = 86_400_000;
const ECDSA_SHA256 = sequence(identifier("1.2.840.10045.4.3.2"));
const COMMON_NAME = "2.5.4.3";
const BASIC_CONSTRAINTS = "2.5.29.19";
const ALTERNATIVE_NAMES = "2.5.29.17";
const LOOPBACK_4 = Buffer.from([127, 0, 0, 1]);
const LOOPBACK_6 = Buffer.from([...new Array<number>(15).fill(0), 1]);

export const makeCertificates = (): Certificates => {
  const authority = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const node = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer = nameOf("Stand-in node CA");
  return {
    authority: certify(issuer, issuer, authority.publicKey, authority.privateKey, [
      extension(BASIC_CONSTRAINTS, sequence(yes()), true),
    ]),
    certificate: certify(issuer, nameOf("localhost"), node.publicKey, authority.privateKey, [
      extension(
        ALTERNATIVE_NAMES,
        sequence(
          implicit(2, Buffer.from("localhost", "latin1")),
          implicit(7, LOOPBACK_4),
          implicit(7, LOOPBACK_6),
        ),
        false,
      ),
    ]),
    key: node.privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  };
};

/** The certificates in `folder` (`ca.crt`, `node.crt`, `node.key`), which are made if they are not there. */
export const certificatesIn = (folder: string): Certificates => {
  const files = ["ca.crt", "node.crt", "node.key"].map((file) => join(folder, file));
  if (!files.every((file) => existsSync(file))) {
    const made = makeCertificates();
    mkdirSync(folder, { recursive: true });
    for (const [index, pem] of [made.authority, made.certificate, made.key].entries())
      writeFileSync(files[index]!, pem);
  }
  const [authority, certificate, key] = files.map((file) => readFileSync(file, "utf8"));
  return { authority: authority!, certificate: certificate!, key: key! };
};

const nameOf = (common: string): Buffer => sequence(setOf(sequence(identifier(COMMON_NAME), text(common))));

const extension = (id: string, value: Buffer, critical: boolean): Buffer =>
  sequence(identifier(id), ...(critical ? [yes()] : []), octets(value));

const certify = (
  issuer: Buffer,
  subject: Buffer,
  key: KeyObject,
  signer: KeyObject,
  extensions: readonly Buffer[],
): string => {
  const now = Date.now();
  const body = sequence(
    context(0, integer(Buffer.from([2]))),
    integer(Buffer.from([1, ...randomBytes(15)])),
    ECDSA_SHA256,
    issuer,
    sequence(time(new Date(now - DAY_MS)), time(new Date(now + DAY_MS))),
    subject,
    key.export({ type: "spki", format: "der" }),
    context(3, sequence(...extensions)),
  );
  const signature = sign("sha256", body, { key: signer, dsaEncoding: "der" });
  const lines = sequence(body, ECDSA_SHA256, bits(signature))
    .toString("base64")
    .match(/.{1,64}/g)!;
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
};
