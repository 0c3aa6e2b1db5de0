import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export interface IssuedCertificate {
  /** In PEM. */
  readonly certificate: string;
  readonly key: string;
  /** SHA-256 in lowercase hexadecimal. */
  readonly fingerprint: string;
}

export interface CertificateRequest {
  /** The common name, which clients ignore. */
  readonly name: string;
  readonly dnsNames?: readonly string[];
  /** Default: 127.0.0.1. */
  readonly addresses?: readonly string[];
  /** Default: an hour ago. */
  readonly notBefore?: Date;
  /** Default: in three days. A time in the past gives an expired certificate. */
  readonly notAfter?: Date;
}

/** A private certificate authority. Its certificates are good for servers and for clients. */
export interface Authority {
  readonly certificate: string;
  readonly key: string;
  issue(request: CertificateRequest): Promise<IssuedCertificate>;
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'];

/** Creates an authority for ten years. */
export async function makeAuthority(name = 'Millrace test authority'): Promise<Authority> {
  return inTemporaryFolder(async (folder) => {
    const [certificateFile, keyFile] = [path.join(folder, 'ca.pem'), path.join(folder, 'ca.key')];
    const use = ['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign'];
    const about = ['-days', '3650', '-subj', `/CN=${name}`, ...use];
    await run('openssl', ['req', '-x509', ...newKey, ...about, '-keyout', keyFile, '-out', certificateFile]);
    return openAuthority(await readFile(certificateFile, 'utf8'), await readFile(keyFile, 'utf8'));
  });
}

/** An authority whose certificate and key were stored. */
export function openAuthority(certificate: string, key: string): Authority {
  return {
    certificate,
    key,
    issue: (request) => inTemporaryFolder((folder) => issue({ certificate, key }, request, folder)),
  };
}

async function issue(
  authority: Pick<Authority, 'certificate' | 'key'>,
  request: CertificateRequest,
  folder: string,
): Promise<IssuedCertificate> {
  const file = (name: string): string => path.join(folder, name);
  await Promise.all([
    writeFile(file('ca.pem'), authority.certificate),
    writeFile(file('ca.key'), authority.key, { mode: 0o600 }),
    writeFile(file('index.txt'), ''),
    writeFile(file('openssl.cnf'), renderConfig(folder, request)),
  ]);
  const subject = ['-subj', `/CN=${request.name}`];
  await run('openssl', ['req', ...newKey, ...subject, '-keyout', file('leaf.key'), '-out', file('leaf.csr')]);
  const now = Date.now();
  // Only `openssl ca` of OpenSSL 3.0 accepts both ends of the validity.
  const validity = [
    ...['-startdate', asn1Time(request.notBefore ?? new Date(now - hourMs))],
    ...['-enddate', asn1Time(request.notAfter ?? new Date(now + 3 * dayMs))],
  ];
  const files = ['-in', file('leaf.csr'), '-out', file('leaf.pem')];
  await run('openssl', ['ca', '-batch', '-notext', '-config', file('openssl.cnf'), ...validity, ...files]);
  const certificate = await readFile(file('leaf.pem'), 'utf8');
  const fingerprint = new X509Certificate(certificate).fingerprint256.replaceAll(':', '').toLowerCase();
  return { certificate, key: await readFile(file('leaf.key'), 'utf8'), fingerprint };
}

function renderConfig(folder: string, request: CertificateRequest): string {
  const { dnsNames = [], addresses = ['127.0.0.1'] } = request;
  const names = [
    ...addresses.map((address) => `IP:${address}`),
    ...dnsNames.map((dnsName) => `DNS:${dnsName}`),
  ];
  return [
    '[ca]',
    'default_ca = authority',
    '[authority]',
    `certificate = ${path.join(folder, 'ca.pem')}`,
    `private_key = ${path.join(folder, 'ca.key')}`,
    `database = ${path.join(folder, 'index.txt')}`,
    `new_certs_dir = ${folder}`,
    'rand_serial = yes',
    'default_md = sha256',
    'policy = subject',
    'x509_extensions = leaf',
    '[subject]',
    'commonName = supplied',
    '[leaf]',
    'basicConstraints = critical,CA:FALSE',
    'extendedKeyUsage = serverAuth,clientAuth',
    ...(names.length === 0 ? [] : [`subjectAltName = ${names.join(',')}`]),
    '',
  ].join('\n');
}

/** For example 20261118204045Z. */
function asn1Time(date: Date): string {
  return `${date.toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}Z`;
}

async function inTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), 'millrace-certificate-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
