import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Certificates of a private authority, with the names, addresses and validity that a test needs. */
export { makeAuthority, type Authority } from '@millrace/services';

export interface TestCertificate {
  /** Self-signed, in PEM. */
  readonly certificate: string;
  readonly key: string;
  /** SHA-256 in lowercase hexadecimal, as daemons write it. */
  readonly fingerprint: string;
}

/** Creates a new certificate, as daemons and their clients do. */
export async function makeCertificate(
  name: string,
  goodFor: { readonly dnsNames?: readonly string[]; readonly addresses?: readonly string[] } = {},
): Promise<TestCertificate> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-certificate-'));
  const [certificateFile, keyFile] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')];
  try {
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'];
    const { dnsNames = [], addresses = ['127.0.0.1'] } = goodFor;
    const names = [
      ...addresses.map((address) => `IP:${address}`),
      ...dnsNames.map((dnsName) => `DNS:${dnsName}`),
    ];
    const about = ['-days', '3', '-subj', `/CN=${name}`, '-addext', `subjectAltName=${names.join(',')}`];
    await run('openssl', ['req', '-x509', ...curve, ...about, '-keyout', keyFile, '-out', certificateFile]);
    const certificate = await readFile(certificateFile, 'utf8');
    return { certificate, key: await readFile(keyFile, 'utf8'), fingerprint: fingerprintOf(certificate) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export function fingerprintOf(certificate: string): string {
  return new X509Certificate(certificate).fingerprint256.replaceAll(':', '').toLowerCase();
}

/** The fingerprint of the certificate that a server on loopback shows. */
export async function servedFingerprint(port: number): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  // A server that requires a client certificate closes the connection after the handshake.
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256.replaceAll(':', '').toLowerCase();
}
