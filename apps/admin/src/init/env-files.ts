import { join } from 'node:path';
import { renderEnvText, type EnvLine } from './env-text.ts';
import { addressesOf, machinePorts, MACHINE_COUNT, peersOf } from './machines/machines.ts';
import { caFileOf, upstreamName, type InstallationFacts, type ProcessRole } from './layout.ts';

const inFolder = ({ folder }: InstallationFacts, file: string): string => join(folder, file);

export function renderCommonEnv(installation: InstallationFacts): string {
  const { folder, ports, publicUrl, name, cell, natsPrefix, machines } = installation;
  const natsHosts = machines === null ? ['127.0.0.1'] : addressesOf(machines);
  return renderEnvText([
    'Settings of all processes. No secrets: every user of this machine can read this file.',
    ['MILLRACE_CELL', String(cell)],
    ['MILLRACE_INSTALLATION_NAME', name],
    ['MILLRACE_HTTP_PUBLIC_URL', publicUrl],
    ['MILLRACE_ENGINE_CA_FILE', caFileOf(folder)],
    ['MILLRACE_NATS_URLS', natsHosts.map((host) => `tls://${host}:${ports.nats}`).join(',')],
    ...(machines === null ? [] : [['MILLRACE_NATS_REPLICAS', String(MACHINE_COUNT)] as const]),
    ...(natsPrefix === '' ? [] : [['MILLRACE_NATS_PREFIX', natsPrefix] as const]),
  ]);
}

export interface WorkerFacts {
  readonly activeSealingKey: string;
  readonly identityPublicKey: string;
}

export function renderProcessEnvs(
  installation: InstallationFacts,
  facts: WorkerFacts,
): Readonly<Record<ProcessRole, string>> {
  return {
    api: renderEnvText([
      'Settings of the api. Secrets are in the folder api.',
      ...httpLines(installation, 'api', installation.ports.api),
      ...databaseLines(installation, 'api', facts),
      ['MILLRACE_VALKEY_URL_FILE', inFolder(installation, 'api/valkey.url')],
      ...sharedLines(installation, 'api'),
      ['MILLRACE_AUTH_SECRET_FILE', inFolder(installation, 'api/auth.secret')],
      ...healthProcessLines(installation),
    ]),
    worker: renderEnvText([
      'Settings of the worker. Secrets are in the folder worker.',
      ...databaseLines(installation, 'worker', facts),
      ['MILLRACE_POT_VALKEY_URL_FILE', inFolder(installation, 'worker/valkey.url')],
      ...sharedLines(installation, 'worker'),
      ...restateLines(installation, facts),
    ]),
    gateway: renderEnvText([
      'Settings of the gateway. Secrets are in the folder gateway.',
      ...httpLines(installation, 'gateway', installation.ports.gateway),
      ['MILLRACE_GATEWAY_HEALTH_PORT', String(installation.ports.gatewayHealth)],
      ['MILLRACE_POT_VALKEY_URL_FILE', inFolder(installation, 'gateway/valkey.url')],
      ...sharedLines(installation, 'gateway'),
    ]),
  };
}

function httpLines(installation: InstallationFacts, role: ProcessRole, port: number): readonly EnvLine[] {
  const { machines } = installation;
  const proxies = ['127.0.0.1', ...(machines === null ? [] : addressesOf(machines))];
  return [
    ['MILLRACE_HTTP_HOST', machines?.self.address ?? '127.0.0.1'],
    ['MILLRACE_HTTP_PORT', String(port)],
    ['MILLRACE_HTTP_TLS_CERT_FILE', inFolder(installation, `${role}/server.pem`)],
    ['MILLRACE_HTTP_TLS_KEY_FILE', inFolder(installation, `${role}/server.key`)],
    ['MILLRACE_HTTP_TRUSTED_PROXIES', proxies.join(',')],
    'The proxy notices a stopping process after two failed checks, one each second.',
    ['MILLRACE_LAME_DUCK_MS', '3000'],
  ];
}

function databaseLines(
  installation: InstallationFacts,
  role: ProcessRole,
  { activeSealingKey }: WorkerFacts,
): readonly EnvLine[] {
  return [
    ['MILLRACE_POSTGRES_URL_FILE', inFolder(installation, `${role}/postgres.url`)],
    ['MILLRACE_SEALING_KEYS_FILE', inFolder(installation, `${role}/sealing.keys`)],
    ['MILLRACE_SEALING_KEY_ACTIVE', activeSealingKey],
  ];
}

function sharedLines(installation: InstallationFacts, role: ProcessRole): readonly EnvLine[] {
  return [
    ['MILLRACE_HEALTH_TOKEN_FILE', inFolder(installation, `${role}/health.token`)],
    ['MILLRACE_NATS_CREDENTIALS_FILE', inFolder(installation, `${role}/nats.seed`)],
    ['MILLRACE_KEY_FEED_KEYS_FILE', inFolder(installation, `${role}/key-feed.keys`)],
  ];
}

function restateLines(
  { ports, machines }: InstallationFacts,
  { identityPublicKey }: WorkerFacts,
): readonly EnvLine[] {
  // The internal proxy of three machines leads to the Restate and the worker of this one, or else to another's.
  const { restateIngress, restateAdmin } = machines === null ? ports : machinePorts.loopback;
  const handlers = `http://127.0.0.1:${machinePorts.loopback.workerHandlers}`;
  return [
    ['MILLRACE_RESTATE_INGRESS_URL', `http://127.0.0.1:${restateIngress}`],
    ['MILLRACE_RESTATE_ADMIN_URL', `http://127.0.0.1:${restateAdmin}`],
    ...(machines === null ? [] : [['MILLRACE_RESTATE_ENDPOINT_URL', handlers] as const]),
    ['MILLRACE_RESTATE_IDENTITY_KEYS', identityPublicKey],
    ['MILLRACE_RESTATE_ENDPOINT_PORT', String(ports.workerHandlers)],
    ['MILLRACE_WORKER_HEALTH_PORT', String(ports.workerHealth)],
  ];
}

/** Without the processes of the other machines, a stopped one of this machine would be published as an outage. */
function healthProcessLines({ ports, machines }: InstallationFacts): readonly EnvLine[] {
  if (machines === null) return [];
  const { workerHealth, gatewayHealth } = machinePorts.loopback;
  const ofRole = (role: string, own: number, firstOfPeers: number): readonly string[] => [
    `${role} ${machines.self.name}=http://127.0.0.1:${own}`,
    ...peersOf(machines).map(({ name }, index) => `${role} ${name}=http://127.0.0.1:${firstOfPeers + index}`),
  ];
  const processes = [
    ...ofRole('worker', ports.workerHealth, workerHealth),
    ...ofRole('gateway', ports.gatewayHealth, gatewayHealth),
  ];
  return [
    'The internal proxy leads to the processes of the other machines.',
    ['MILLRACE_HEALTH_PROCESSES', processes.join(',')],
  ];
}

export function renderAdminEnv(installation: InstallationFacts): string {
  return renderEnvText([
    'Settings of millrace-admin. Secrets are in the folder admin, which only root can read.',
    ['MILLRACE_POSTGRES_URL_FILE', inFolder(installation, 'admin/postgres.url')],
    ['MILLRACE_POSTGRES_OWNER_URL_FILE', inFolder(installation, 'admin/postgres-owner.url')],
    ['MILLRACE_VALKEY_URL_FILE', inFolder(installation, 'admin/valkey.url')],
    ['MILLRACE_BACKUP_FOLDER', '/var/backups/millrace'],
  ]);
}

export function renderProxyEnv(installation: InstallationFacts): string {
  const { hasIpv6, ports, publicUrl, machines } = installation;
  const port = new URL(publicUrl).port;
  const everywhere = (of: string): string => (hasIpv6 ? `:${of},:::${of}` : `:${of}`);
  // Without a second process, the first two are the same.
  const hosts = machines === null ? ['127.0.0.1', '127.0.0.1'] : addressesOf(machines);
  const upstreams = (prefix: string, of: number): readonly EnvLine[] =>
    hosts.map((host, index) => [`${prefix}_${index + 1}`, `${host}:${of}`]);
  return renderEnvText([
    'Settings of the proxy.',
    'All addresses of IPv4, and with three colons those of IPv6.',
    ['HTTPS_BIND', everywhere(port === '' ? '443' : port)],
    ['HTTP_BIND', everywhere('80')],
    ['CERTIFICATE', inFolder(installation, 'proxy/public.pem')],
    ['CA_FILE', inFolder(installation, 'proxy/ca.pem')],
    ['UPSTREAM_NAME', upstreamName],
    'The configuration of the proxy needs two of each. Without a second process, both are the same.',
    ...upstreams('API', ports.api),
    ...upstreams('GATEWAY', ports.gateway),
  ]);
}
