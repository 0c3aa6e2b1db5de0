import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';
import { pinMismatch } from './tls-problem.ts';

/** The certificates of a connection whose sides know each other's certificate instead of an authority. In PEM. */
export interface PinnedTls {
  /** The server must know it. */
  readonly clientCertificate: string;
  readonly clientKey: string;
  /** The only accepted server certificates: one, or several while the server's is being replaced. */
  readonly serverCertificate: string;
}

/** Thrown without any content of a file. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
}

const block = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** All certificates in a PEM text, at least one. `what` names the text in the error. */
export function parseCertificates(pem: string, what: string): readonly X509Certificate[] {
  const blocks = pem.match(block) ?? [];
  if (blocks.length === 0) throw new CertificateError(`${what} contains no PEM certificate.`);
  try {
    return blocks.map((each) => new X509Certificate(each));
  } catch {
    throw new CertificateError(`${what} contains a certificate that cannot be read.`);
  }
}

/** Programs that renew certificates write one file after the other, so a pair can be incomplete for a moment. */
export function assertKeyMatches(certificate: string, key: string, what: string): void {
  const [own] = parseCertificates(certificate, what);
  if (own?.checkPrivateKey(readKey(key, what)) !== true) {
    throw new CertificateError(`The key of ${what} does not match the certificate.`);
  }
}

function readKey(key: string, what: string): ReturnType<typeof createPrivateKey> {
  try {
    return createPrivateKey(key);
  } catch {
    throw new CertificateError(`The key of ${what} is not a PEM private key.`);
  }
}

export function checkPinnedTls(tls: PinnedTls, what: string): PinnedTls {
  assertKeyMatches(tls.clientCertificate, tls.clientKey, `the client certificate of ${what}`);
  parseCertificates(tls.serverCertificate, `The server certificate of ${what}`);
  return tls;
}

type PinnedOptions = Pick<ConnectionOptions, 'cert' | 'key' | 'ca' | 'checkServerIdentity'> & {
  readonly allowPartialTrustChain: true;
};

/** Options of a connection that accepts only the pinned certificates. An expired one is refused like any other. */
export function pinnedTlsOptions({
  clientCertificate,
  clientKey,
  serverCertificate,
}: PinnedTls): PinnedOptions {
  const pinned = fingerprintsOf(serverCertificate);
  return {
    cert: clientCertificate,
    key: clientKey,
    ca: serverCertificate,
    // Otherwise OpenSSL finds a certificate by its subject, which the old and the new one usually share.
    allowPartialTrustChain: true,
    // Servers have self-signed certificates without meaningful names, so the fingerprint decides.
    checkServerIdentity: (host, shown) =>
      pinned.has(shown.fingerprint256)
        ? undefined
        : Object.assign(new Error(`${host} does not present the certificate that is pinned for it`), {
            code: pinMismatch,
          }),
  };
}

export function fingerprintsOf(pem: string): ReadonlySet<string> {
  return new Set(
    parseCertificates(pem, 'The server certificate').map(({ fingerprint256 }) => fingerprint256),
  );
}
