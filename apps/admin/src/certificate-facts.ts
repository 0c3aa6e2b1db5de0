import { createPrivateKey, type X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** Within this time before its end, a certificate is reported, and reissued by the private authority. */
export const EXPIRES_SOON_MS = 30 * 86_400_000;

/** As browsers, which ignore the common name. */
export function hasName(certificate: X509Certificate, name: string): boolean {
  const found =
    isIP(name) === 0 ? certificate.checkHost(name, { subject: 'never' }) : certificate.checkIP(name);
  return found !== undefined;
}

export function matchesKey(certificate: X509Certificate, key: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}
