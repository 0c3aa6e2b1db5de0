import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  fleetConfig,
  mailConfig,
  providersConfig,
  storageConfig,
  type ClusterSetting,
  type CredentialSetting,
  type StorageNodeSetting,
} from '@millrace/platform/config';
import { checkPinnedTls, fingerprintsOf, isCertificateCode, type PinnedTls } from '@millrace/platform/tls';
import { errorCode } from '../error-code.ts';
import type { Check, CheckContext, HttpRequest } from './check.ts';
import { finding, type Finding } from './finding.ts';
import { settingsOf } from './installation.ts';
import { publicAuthorities } from './network.ts';
import { addressOf } from './servers.ts';

type Credentials = Readonly<Record<string, CredentialSetting>>;

/** The configured clusters and storage nodes, as a worker reaches them. */
export const fleetCheck: Check = {
  id: 'fleet',
  title: 'Clusters and storage nodes',
  run: async (context) => {
    const settings = settingsOf(
      [fleetConfig, providersConfig, storageConfig],
      context.installation,
      'worker',
    );
    if (settings === null) return [];
    const { fleet, providers, storage } = settings;
    const ofClusters = (providers.list ?? providers.file ?? []).flatMap(({ driver, clusters }) =>
      clusters.map((cluster) => {
        if (driver === 'incus') return checkIncus(context, cluster, fleet.credentials);
        return driver === 'ironic' ? checkIronic(context, cluster, fleet.credentials) : [];
      }),
    );
    const ofNodes = (storage.list ?? storage.file ?? [])
      .filter(({ kind }) => kind !== 'mock')
      .map((node) => checkStorage(context, node, fleet.credentials));
    return (await Promise.all([...ofClusters, ...ofNodes])).flat();
  },
};

interface Named {
  readonly name: string;
  readonly credential: string | null;
}

function missingCredential({ name, credential }: Named, why: string): readonly Finding[] {
  const problem = `The credential ${credential ?? '(none)'} of ${name} cannot be used: ${why}.`;
  return [finding('cluster-credential-missing', name, problem)];
}

/** The certificates of a credential, or why they cannot be used. */
function pinnedTlsOf(
  named: Named,
  credentials: Credentials,
  serverCertificate: string | null,
): PinnedTls | string {
  const credential = named.credential === null ? undefined : credentials[named.credential];
  if (credential === undefined) return 'MILLRACE_FLEET_CREDENTIALS_FILE has no such entry';
  if (!('certificateFile' in credential)) return 'it is a password, and certificates are needed';
  try {
    const { certificateFile, keyFile, serverCertificateFile } = credential;
    if (serverCertificate === null && serverCertificateFile === null)
      return 'it has no serverCertificateFile';
    const tls = {
      clientCertificate: readFileSync(certificateFile, 'utf8'),
      clientKey: readFileSync(keyFile, 'utf8'),
      serverCertificate: serverCertificate ?? readFileSync(serverCertificateFile ?? '', 'utf8'),
    };
    return checkPinnedTls(tls, named.name);
  } catch (error) {
    // Neither message has the content of a file.
    return error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
  }
}

const pinnedRequest = (url: string, tls: PinnedTls): HttpRequest => ({
  url,
  ca: tls.serverCertificate,
  clientCertificate: tls.clientCertificate,
  clientKey: tls.clientKey,
  checkName: false,
  isPinned: true,
});

async function checkIncus(
  context: CheckContext,
  cluster: ClusterSetting,
  credentials: Credentials,
): Promise<readonly Finding[]> {
  if (cluster.endpoint.startsWith('unix:')) return [];
  const given = cluster.settings['serverCertificate'];
  const tls = pinnedTlsOf(cluster, credentials, typeof given === 'string' ? given : null);
  if (typeof tls === 'string') return missingCredential(cluster, tls);
  const endpoints = cluster.endpoint.split(',');
  const results = await Promise.all(
    endpoints.map((endpoint) => checkEndpoint(context, cluster, endpoint, tls)),
  );
  const findings = results.flat();
  const [first = ''] = endpoints;
  return findings.length > 0 ? findings : checkImage(context, cluster, first, tls);
}

async function checkEndpoint(
  { effects }: CheckContext,
  { name }: ClusterSetting,
  endpoint: string,
  tls: PinnedTls,
): Promise<readonly Finding[]> {
  const unreachable = [finding('cluster-unreachable', name, `${endpoint} does not answer.`)];
  const address = { ...addressOf(endpoint, 443), start: 'direct', ca: null } as const;
  const served = await effects.servedCertificate(address).catch(() => null);
  if (served === null) return unreachable;
  if (!fingerprintsOf(tls.serverCertificate).has(new X509Certificate(served.pem).fingerprint256)) {
    const problem = `${endpoint} does not show the certificate in serverCertificateFile.`;
    return [finding('cluster-certificate', name, problem)];
  }
  try {
    const { body } = await effects.request(pinnedRequest(`${endpoint}/1.0`, tls));
    if (/"auth"\s*:\s*"trusted"/.test(body)) return [];
    return [finding('cluster-client-refused', name, `${endpoint} does not trust the client certificate.`)];
  } catch (error) {
    if (!isCertificateCode(errorCode(error))) return unreachable;
    return [
      finding(
        'cluster-certificate',
        name,
        `The certificate of ${endpoint} is refused (${errorCode(error)}).`,
      ),
    ];
  }
}

/** The default of the driver. */
const DEFAULT_IMAGE = 'default';

async function checkImage(
  { effects }: CheckContext,
  { name, settings }: ClusterSetting,
  endpoint: string,
  tls: PinnedTls,
): Promise<readonly Finding[]> {
  const image = typeof settings['defaultImage'] === 'string' ? settings['defaultImage'] : DEFAULT_IMAGE;
  const url = `${endpoint}/1.0/images/aliases/${encodeURIComponent(image)}`;
  const response = await effects.request(pinnedRequest(url, tls)).catch(() => null);
  if (response?.status !== 404) return [];
  return [finding('cluster-image-missing', name, `The cluster ${name} has no image ${image}.`, { image })];
}

async function checkIronic(
  { effects }: CheckContext,
  cluster: ClusterSetting,
  credentials: Credentials,
): Promise<readonly Finding[]> {
  const { name, endpoint } = cluster;
  const credential = cluster.credential === null ? undefined : credentials[cluster.credential];
  if (credential === undefined) {
    return missingCredential(cluster, 'MILLRACE_FLEET_CREDENTIALS_FILE has no such entry');
  }
  if (!('passwordFile' in credential))
    return missingCredential(cluster, 'Ironic needs a user name and a password');
  try {
    const password = readFileSync(credential.passwordFile, 'utf8').trim();
    const { serverCertificateFile: caFile } = credential;
    const ca = caFile === null ? publicAuthorities(null) : readFileSync(caFile, 'utf8');
    const login = Buffer.from(`${credential.username}:${password}`).toString('base64');
    const headers = { authorization: `Basic ${login}` };
    const url = `${endpoint.replace(/\/$/, '')}/v1/nodes?limit=1`;
    const { status } = await effects.request({ url, headers, ca });
    if (status !== 401 && status !== 403) return [];
    return [
      finding('cluster-client-refused', name, `${endpoint} refuses the password of ${credential.username}.`),
    ];
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'EACCES')
      return missingCredential(cluster, `a file cannot be read (${code})`);
    if (isCertificateCode(code)) {
      return [finding('cluster-certificate', name, `The certificate of ${endpoint} is refused (${code}).`)];
    }
    return [finding('cluster-unreachable', name, `${endpoint} does not answer (${code}).`)];
  }
}

async function checkStorage(
  { effects }: CheckContext,
  node: StorageNodeSetting,
  credentials: Credentials,
): Promise<readonly Finding[]> {
  const tls = pinnedTlsOf(node, credentials, null);
  if (typeof tls === 'string') return missingCredential(node, tls);
  try {
    await effects.request(pinnedRequest(node.endpoint, tls));
    return [];
  } catch (error) {
    const problem = `The storage agent of ${node.name} does not answer at ${node.endpoint} (${errorCode(error)}).`;
    return [finding('storage-unreachable', node.name, problem)];
  }
}

/** The email server answers; nothing is sent. */
export const mailCheck: Check = {
  id: 'mail',
  title: 'Email',
  run: async ({ installation, effects }) => {
    const url = settingsOf([mailConfig], installation, 'api')?.mail.smtpUrl ?? null;
    if (url === null) return [];
    const isEncrypted = url.startsWith('smtps:');
    const address = addressOf(url, isEncrypted ? 465 : 587);
    const answers = isEncrypted
      ? effects.servedCertificate({ ...address, start: 'direct', ca: null }).then(() => true)
      : effects.greeting(address).then((text) => text.startsWith('220'));
    if (await answers.catch(() => false)) return [];
    const problem = `The email server does not answer at ${address.host}:${address.port}.`;
    return [finding('mail-unreachable', 'mail', problem)];
  },
};
