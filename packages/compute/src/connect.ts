import { readFile } from 'node:fs/promises';
import type { Clock } from '@millrace/platform/clock';
import type { CertificateSetting, CredentialSetting, PasswordSetting } from '@millrace/platform/config';
import { createDb, type Db } from '@millrace/platform/db';
import { createIdSource } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { hostOf, isLoopback, type NetGuard } from '@millrace/platform/net';
import {
  CertificateError,
  checkPinnedTls,
  openCredentialFiles,
  parseCertificates,
  type PinnedTls,
} from '@millrace/platform/tls';
import { DriverError } from './driver-error.ts';
import type { ComputeDriver, DriverKind } from './driver.ts';
import {
  createIncusDriver,
  openIncusTrust,
  readIncusSettings,
  type IncusConfig,
  type IncusConnectionOptions,
  type IncusTrust,
} from './incus/index.ts';
import {
  createIronicDriver,
  readIronicSettings,
  type IronicConnectionOptions,
  type IronicCredential,
} from './ironic/index.ts';
import { traceDriver } from './trace-driver.ts';
import { createMockDriver, createPostgresStore, readMockDatabase, readMockLayout } from './mock/index.ts';

/** Creates the driver of a cluster from its configuration, for every process that calls engines. */

export type { GrantedProject, IncusTrust, TrustLimits } from './incus/index.ts';

export interface ClusterConnectionOptions {
  readonly name: string;
  readonly driver: DriverKind;
  readonly endpoint: string;
  readonly credentialRef: string | null;
  readonly settings: Readonly<Record<string, unknown>>;
}

export interface ConnectDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Logger;
  readonly credentials: Readonly<Record<string, CredentialSetting>>;
  /** Restricts connections to endpoints that a supplier entered. */
  readonly guard: NetGuard;
  /** Whether this process opens the port listeners of mock machines. */
  readonly opensPorts: boolean;
  /** Whether passwords may leave this machine without TLS. Default: false. */
  readonly allowPlaintext?: boolean;
}

/** Connects to a cluster. A configuration error is thrown as `refused` and becomes the reason why the cluster is unreachable. */
export async function connectDriver(
  cluster: ClusterConnectionOptions,
  deps: ConnectDeps,
): Promise<ComputeDriver> {
  return traceDriver(await openDriver(cluster, deps), cluster.name);
}

async function openDriver(cluster: ClusterConnectionOptions, deps: ConnectDeps): Promise<ComputeDriver> {
  const { db, clock, log } = deps;
  switch (cluster.driver) {
    case 'mock': {
      const layout = readMockLayout(cluster.settings);
      const listen = deps.opensPorts ? { bind: null } : null;
      const { name } = cluster;
      const own = openMockDatabase(cluster, deps);
      const memory = createPostgresStore(own ?? db, { cluster: name, clock });
      const onClose = async (): Promise<void> => own?.close();
      return createMockDriver({ cluster: name, clock, memory, layout, listen, onClose });
    }
    case 'incus': {
      const settings = readIncusSettings(cluster.settings);
      const reach = await incusConnectionOptions(cluster, settings, deps);
      return createIncusDriver({ ...settings.options, ...reach, clock, log });
    }
    case 'ironic': {
      const settings = readIronicSettings(cluster.settings);
      return createIronicDriver({ ...settings, ...(await ironicConnectionOptions(cluster, deps)), clock });
    }
  }
}

function openMockDatabase({ settings }: ClusterConnectionOptions, { clock, log }: ConnectDeps): Db | null {
  const url = readMockDatabase(settings);
  if (url === null) return null;
  const ids = createIdSource({ clock, cell: 0 });
  return createDb({ url, poolSize: 2, applicationName: 'millrace-mock', role: null, clock, ids, log });
}

async function ironicConnectionOptions(
  cluster: ClusterConnectionOptions,
  { credentials, clock, log, allowPlaintext = false }: ConnectDeps,
): Promise<IronicConnectionOptions> {
  const credential = credentialOf(cluster, credentials);
  if (credential === undefined) throw missingCredentialError(cluster);
  if (!isPassword(credential)) {
    throw new DriverError(
      'refused',
      'Ironic requires a user name and a password; the credential of the cluster has none.',
    );
  }
  assertEncrypted(cluster.endpoint, allowPlaintext);
  const { username, passwordFile, serverCertificateFile } = credential;
  const read = async (): Promise<IronicCredential> => {
    const password = (await readSecret(passwordFile)).trim();
    const serverCertificate = serverCertificateFile === null ? null : await readSecret(serverCertificateFile);
    refuseInvalid(() => {
      if (serverCertificate !== null)
        parseCertificates(serverCertificate, `The file ${serverCertificateFile}`);
      if (password === '') throw new CertificateError(`The password file ${passwordFile} is empty.`);
    });
    return { username, password, serverCertificate };
  };
  const name = cluster.credentialRef ?? '';
  return {
    endpoint: cluster.endpoint,
    credential: await openCredentialFiles({ name, read, clock, log }),
  };
}

/** Without TLS, anyone on the network could read the password. */
function assertEncrypted(endpoint: string, allowPlaintext: boolean): void {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (url?.protocol === 'https:') return;
  if (url?.protocol === 'http:' && (allowPlaintext || isLoopback(hostOf(url)))) return;
  throw new DriverError(
    'refused',
    'The endpoint of Ironic on another machine must begin with https://, or set MILLRACE_ALLOW_PLAINTEXT_ENGINES=true if no other machine can read that network.',
  );
}

/** Errors about the content of a credential are errors of the configuration. */
function refuseInvalid<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof CertificateError) throw new DriverError('refused', error.message, { cause: error });
    throw error;
  }
}

function isPassword(credential: CredentialSetting): credential is PasswordSetting {
  return 'passwordFile' in credential;
}

function missingCredentialError({ credentialRef }: ClusterConnectionOptions): DriverError {
  const named =
    credentialRef === null
      ? 'The cluster names no credential'
      : `This process has no credential ${credentialRef}`;
  return new DriverError('refused', `${named}; connecting over the network requires one.`);
}

function requireCertificate(credential: CredentialSetting): CertificateSetting {
  if (!isPassword(credential)) return credential;
  throw new DriverError(
    'refused',
    'Incus requires a client certificate; the credential of the cluster is a password.',
  );
}

async function incusConnectionOptions(
  cluster: ClusterConnectionOptions,
  settings: IncusConfig,
  { credentials, guard, clock, log }: ConnectDeps,
): Promise<IncusConnectionOptions> {
  const { endpoint } = cluster;
  if (endpoint.startsWith('unix:') && !settings.isGuarded)
    return { socketPath: endpoint.slice('unix:'.length) };
  const named = credentialOf(cluster, credentials);
  if (named === undefined) throw missingCredentialError(cluster);
  const credential = requireCertificate(named);
  const endpoints = endpoint.split(',');
  if (endpoints.some((each) => !URL.canParse(each) || new URL(each).protocol !== 'https:')) {
    throw new DriverError('refused', 'Each endpoint of an Incus cluster must begin with https://.');
  }
  const name = cluster.credentialRef ?? '';
  const read = (): Promise<PinnedTls> => readPinnedTls(credential, settings.serverCertificate, name);
  return {
    endpoints,
    tls: await openCredentialFiles({ name, read, clock, log }),
    ...(settings.isGuarded && { guard }),
  };
}

async function readPinnedTls(
  credential: CertificateSetting,
  pinned: string | null,
  name: string,
): Promise<PinnedTls> {
  const tls = {
    clientCertificate: await readSecret(credential.certificateFile),
    clientKey: await readSecret(credential.keyFile),
    serverCertificate: pinned ?? (await serverCertificateOf(credential)),
  };
  return refuseInvalid(() => checkPinnedTls(tls, `the credential ${name}`));
}

function serverCertificateOf({ serverCertificateFile }: CertificateSetting): Promise<string> {
  if (serverCertificateFile !== null) return readSecret(serverCertificateFile);
  throw new DriverError(
    'refused',
    'Neither the settings nor the credential of the cluster contain its server certificate.',
  );
}

function credentialOf(
  { credentialRef }: ClusterConnectionOptions,
  credentials: ConnectDeps['credentials'],
): CredentialSetting | undefined {
  return credentialRef === null ? undefined : credentials[credentialRef];
}

/** For establishing trust with a daemon whose endpoint and certificate a supplier entered. */
export async function connectTrust(
  daemon: { readonly endpoint: string; readonly serverCertificate: string },
  deps: Pick<ConnectDeps, 'clock' | 'guard' | 'credentials'> & { readonly credentialRef: string },
): Promise<IncusTrust> {
  const named = deps.credentials[deps.credentialRef];
  if (named === undefined) {
    throw new DriverError('unavailable', `This process has no credential ${deps.credentialRef}.`);
  }
  const tls = await readPinnedTls(requireCertificate(named), daemon.serverCertificate, deps.credentialRef);
  return openIncusTrust({ endpoints: [daemon.endpoint], tls, guard: deps.guard }, deps.clock);
}

async function readSecret(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new DriverError('refused', `Cannot read the credential file ${path} of the cluster.`, {
      cause: error,
    });
  }
}
