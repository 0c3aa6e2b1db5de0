import { createHash, createPublicKey, sign, X509Certificate } from 'node:crypto';
import { seededPrivateKey } from './seeded-random.ts';

/** Self-signed certificates of simulated hosts. They depend only on the name, because two runs must create the same history. */

export interface HostCertificate {
  /** PEM. */
  readonly certificate: string;
  /** SHA-256 in hexadecimal digits. */
  readonly fingerprint: string;
}

const tag = (type: number, ...fields: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(fields);
  const { length } = body;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([type, ...size]), body]);
};
const sequence = (...fields: readonly Buffer[]): Buffer => tag(0x30, ...fields);
const text = (type: number, value: string): Buffer => tag(type, Buffer.from(value));

const ed25519 = sequence(tag(0x06, Buffer.from([0x2b, 0x65, 0x70])));
const commonName = tag(0x06, Buffer.from([0x55, 0x04, 0x03]));
const validity = sequence(text(0x17, '260101000000Z'), text(0x17, '460101000000Z'));
const version3 = tag(0xa0, tag(0x02, Buffer.from([2])));

export function certificateOf(host: string): HostCertificate {
  const seed = createHash('sha256').update(`certificate of ${host}`).digest();
  const key = seededPrivateKey(seed);
  const name = sequence(tag(0x31, sequence(commonName, text(0x0c, host))));
  const serial = tag(0x02, Buffer.from([1]));
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const content = sequence(version3, serial, ed25519, name, validity, name, publicKey);
  const signature = tag(0x03, Buffer.from([0]), sign(null, content, key));
  const der = sequence(content, ed25519, signature);
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  const certificate = ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
  return {
    certificate,
    fingerprint: new X509Certificate(der).fingerprint256.replaceAll(':', '').toLowerCase(),
  };
}
