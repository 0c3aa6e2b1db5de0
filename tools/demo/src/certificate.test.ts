import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { certificateOf } from './certificate.ts';

it('certificateOf makes a valid self-signed certificate that depends only on the name', () => {
  const { certificate, fingerprint } = certificateOf('8x-a100-hall-a');
  const parsed = new X509Certificate(certificate);
  expect(parsed.subject).toBe('CN=8x-a100-hall-a');
  expect(parsed.verify(parsed.publicKey)).toBe(true);
  expect(certificateOf('8x-a100-hall-a')).toEqual({ certificate, fingerprint });
  expect(certificateOf('8x-a100-hall-b').fingerprint).not.toBe(fingerprint);
});
