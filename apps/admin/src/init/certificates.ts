import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXPIRES_SOON_MS, hasName, matchesKey } from '../certificate-facts.ts';
import { CommandError } from '../command.ts';
import { groupOf, upstreamName, type MachineFacts } from './layout.ts';
import { etcdName, restateName } from './machines/engine-files.ts';
import type { Access, InstallationFiles } from './installation-files.ts';
import { runProgram } from '../run-program.ts';

/** Certificates of the private authority, which only this installation trusts. */

const AUTHORITY_DAYS = 3650;
/** Clients of Apple refuse longer ones, also of private authorities. */
const PUBLIC_DAYS = 825;

export const authorityCertificate = 'ca.pem';
const authorityKey = 'authority/ca.key';
/** A copy for the proxy. */
const proxyCa = 'proxy/ca.pem';
const publicFile: Access = { group: null, mode: 0o644 };

interface Request {
  readonly name: string;
  /** As in `DNS:localhost` and `IP:127.0.0.1`. */
  readonly alternativeNames: readonly string[];
  readonly days: number;
  /** Whether its owner is also a client of servers that require certificates. */
  readonly isClient?: boolean;
}

const loopbackNames = ['DNS:localhost', 'IP:127.0.0.1', 'IP:::1'];

interface Server {
  /** Of the certificate, beside those of the machine. */
  readonly names?: readonly string[];
  /** The reader of the key, if it is not the system user of the server. */
  readonly group?: string;
  readonly isClient?: boolean;
  /** The key is in the same file as the certificate. */
  readonly isOneFile?: boolean;
}

/** Folders with a `server.pem` and a `server.key`. */
const servers: Readonly<Record<string, Server>> = {
  postgres: { group: 'postgres' },
  nats: {},
  valkey: {},
  api: { names: [`DNS:${upstreamName}`] },
  gateway: { names: [`DNS:${upstreamName}`] },
};

/** With three machines, engines are clients of each other. */
const serversOfMachines: Readonly<Record<string, Server>> = {
  ...servers,
  nats: { isClient: true },
  etcd: { names: [`DNS:${etcdName}`], isClient: true },
  patroni: { names: [`DNS:${etcdName}`], group: 'postgres', isClient: true },
  restate: { names: [`DNS:${restateName}`], isClient: true },
  internal: { isClient: true, isOneFile: true },
};

/** Creates the authority and the certificates of all servers. Existing ones stay. */
export async function ensureCertificates(
  files: InstallationFiles,
  machines: MachineFacts | null,
): Promise<void> {
  await ensureAuthority(files);
  const namesOfMachine = [...(machines === null ? [] : [`IP:${machines.self.address}`]), ...loopbackNames];
  for (const [folder, server] of Object.entries(machines === null ? servers : serversOfMachines)) {
    const { names = [], group = groupOf(folder), isClient = false, isOneFile = false } = server;
    const request = {
      name: folder,
      alternativeNames: [...names, ...namesOfMachine],
      days: AUTHORITY_DAYS,
      isClient,
    };
    const access: Access = { group, mode: 0o640 };
    if (isOneFile) {
      await files.ensure(`${folder}/server.pem`, access, async () => {
        const key = createKey();
        return `${await issue(files, key, request)}${key}`;
      });
    } else {
      await ensureServerCertificate(files, access, request);
    }
  }
}

async function ensureAuthority(files: InstallationFiles): Promise<void> {
  const certificate = (await files.read(authorityCertificate)) ?? (await files.read(proxyCa));
  if (certificate !== null && (await files.read(authorityKey)) === null) {
    // The operator may store the key on another machine.
    await files.ensure(authorityCertificate, publicFile, () => certificate);
    return;
  }
  const key = await files.ensure(authorityKey, { group: null, mode: 0o600 }, createKey);
  await files.ensure(authorityCertificate, publicFile, () => {
    if (certificate !== null && matches(certificate, key)) return certificate;
    return createCertificate(key, [
      ...['-subj', '/CN=Millrace private authority', '-days', String(AUTHORITY_DAYS)],
      ...['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign,cRLSign'],
    ]);
  });
}

/** A certificate without its key is useless, so it is replaced if the key is new. */
async function ensureServerCertificate(
  files: InstallationFiles,
  access: Access,
  request: Request,
): Promise<void> {
  const key = await files.ensure(`${request.name}/server.key`, access, createKey);
  const certificateFile = `${request.name}/server.pem`;
  const existing = await files.read(certificateFile);
  if (existing === null || matches(existing, key)) {
    await files.ensure(certificateFile, access, () => issue(files, key, request));
  } else {
    await files.replace(certificateFile, access, await issue(files, key, request));
  }
}

/** The certificate that clients of the public address see, with its key. */
export interface PublicCertificate {
  readonly certificate: string;
  readonly key: string;
}

const proxyFile: Access = { group: groupOf('proxy'), mode: 0o640 };
const publicPem = 'proxy/public.pem';

/** Returns whether the private authority issued the certificate of the public address. */
export async function ensurePublicCertificate(
  files: InstallationFiles,
  { host, given, now }: PublicCertificateRequest,
): Promise<boolean> {
  const ca = (await files.read(authorityCertificate)) ?? '';
  const existing = await files.read(publicPem);
  const pem =
    given === null ? await currentOrReissuedPem(files, { host, now, existing, ca }) : joinPem(given);
  await (pem === existing
    ? files.ensure(publicPem, proxyFile, () => pem)
    : files.replace(publicPem, proxyFile, pem));
  if ((await files.read(proxyCa)) === ca) await files.ensure(proxyCa, proxyFile, () => ca);
  else await files.replace(proxyCa, proxyFile, ca);
  return isIssuedBy(pem, ca);
}

export interface PublicCertificateRequest {
  readonly host: string;
  /** Null: the existing one, or one of the private authority. */
  readonly given: PublicCertificate | null;
  readonly now: Date;
}

const joinPem = ({ certificate, key }: PublicCertificate): string =>
  [certificate, key].map((text) => `${text.trim()}\n`).join('');

/** The existing file. If the private authority issued it for another host, or it ends within 30 days, a new one. */
async function currentOrReissuedPem(
  files: InstallationFiles,
  { host, now, existing, ca }: { host: string; now: Date; existing: string | null; ca: string },
): Promise<string> {
  if (existing !== null && !(isIssuedBy(existing, ca) && needsReissue(existing, host, now))) return existing;
  const key = createKey();
  const alternativeNames = [isIP(host) !== 0 ? `IP:${host}` : `DNS:${host}`];
  return `${await issue(files, key, { name: 'Millrace', alternativeNames, days: PUBLIC_DAYS })}${key}`;
}

function isIssuedBy(certificate: string, ca: string): boolean {
  const authority = new X509Certificate(ca);
  const parsed = new X509Certificate(certificate);
  return parsed.checkIssued(authority) && parsed.verify(authority.publicKey);
}

function needsReissue(certificate: string, host: string, now: Date): boolean {
  const parsed = new X509Certificate(certificate);
  const leftMs = parsed.validToDate.getTime() - now.getTime();
  return !hasName(parsed, host) || leftMs < EXPIRES_SOON_MS;
}

/** Refuses a certificate with another key, without the host name, or that has expired. */
export function checkPublicCertificate(
  { certificate, key }: PublicCertificate,
  host: string,
  now: Date,
): void {
  const parsed = parseCertificate(certificate);
  if (!matches(certificate, key))
    throw new CommandError('The key of --key does not belong to the certificate.');
  if (!hasName(parsed, host))
    throw new CommandError(`The certificate of --certificate does not name ${host}.`);
  if (parsed.validToDate < now) throw new CommandError('The certificate of --certificate has expired.');
}

function parseCertificate(certificate: string): X509Certificate {
  try {
    return new X509Certificate(certificate);
  } catch (error) {
    throw new CommandError('The file of --certificate has no certificate in PEM.', { cause: error });
  }
}

/** False also for a text that is no certificate. */
function matches(certificate: string, key: string): boolean {
  try {
    return matchesKey(new X509Certificate(certificate), key);
  } catch {
    return false;
  }
}

function createKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

async function issue(files: InstallationFiles, key: string, request: Request): Promise<string> {
  if ((await files.read(authorityKey)) === null) {
    throw new CommandError(
      `A certificate of ${request.name} must be issued, and the key of the authority is missing.\n` +
        `Put the key back as ${files.pathOf(authorityKey)}.`,
    );
  }
  const usage = request.isClient === true ? 'serverAuth,clientAuth' : 'serverAuth';
  return createCertificate(key, [
    ...['-CA', files.pathOf(authorityCertificate), '-CAkey', files.pathOf(authorityKey)],
    ...['-subj', `/CN=${request.name}`, '-days', String(request.days)],
    ...['-addext', 'basicConstraints=critical,CA:FALSE', '-addext', `extendedKeyUsage=${usage}`],
    ...['-addext', `subjectAltName=${request.alternativeNames.join(',')}`],
  ]);
}

async function createCertificate(key: string, options: readonly string[]): Promise<string> {
  // openssl reads keys only from files. No other user can enter this folder.
  const folder = await mkdtemp(join(tmpdir(), 'millrace-certificate-'));
  try {
    const keyFile = join(folder, 'key.pem');
    await writeFile(keyFile, key, { mode: 0o600 });
    // Without the configuration file of the machine, which could add other extensions.
    const base = ['req', '-x509', '-new', '-sha256', '-config', '/dev/null', '-key', keyFile];
    return await runProgram('openssl', [...base, ...options]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
