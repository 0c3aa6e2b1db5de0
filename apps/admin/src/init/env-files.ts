import { join } from 'node:path';
import { renderEnvText, type EnvLine } from './env-text.ts';
import { caFileOf, upstreamName, type InstallationFacts, type ProcessRole } from './layout.ts';

const inFolder = ({ folder }: InstallationFacts, file: string): string => join(folder, file);

export function renderCommonEnv(installation: InstallationFacts): string {
  const { folder, ports, publicUrl, name, cell, natsPrefix } = installation;
  return renderEnvText([
    'Settings of all processes. No secrets: every user of this machine can read this file.',
    ['MILLRACE_CELL', String(cell)],
    ['MILLRACE_INSTALLATION_NAME', name],
    ['MILLRACE_HTTP_PUBLIC_URL', publicUrl],
    ['MILLRACE_ENGINE_CA_FILE', caFileOf(folder)],
    ['MILLRACE_NATS_URLS', `tls://127.0.0.1:${ports.nats}`],
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
  return [
    ['MILLRACE_HTTP_HOST', '127.0.0.1'],
    ['MILLRACE_HTTP_PORT', String(port)],
    ['MILLRACE_HTTP_TLS_CERT_FILE', inFolder(installation, `${role}/server.pem`)],
    ['MILLRACE_HTTP_TLS_KEY_FILE', inFolder(installation, `${role}/server.key`)],
    ['MILLRACE_HTTP_TRUSTED_PROXIES', '127.0.0.1'],
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

function restateLines({ ports }: InstallationFacts, { identityPublicKey }: WorkerFacts): readonly EnvLine[] {
  return [
    ['MILLRACE_RESTATE_INGRESS_URL', `http://127.0.0.1:${ports.restateIngress}`],
    ['MILLRACE_RESTATE_ADMIN_URL', `http://127.0.0.1:${ports.restateAdmin}`],
    ['MILLRACE_RESTATE_IDENTITY_KEYS', identityPublicKey],
    ['MILLRACE_RESTATE_ENDPOINT_PORT', String(ports.workerHandlers)],
    ['MILLRACE_WORKER_HEALTH_PORT', String(ports.workerHealth)],
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
  const { hasIpv6, ports, publicUrl } = installation;
  const port = new URL(publicUrl).port;
  const everywhere = (of: string): string => (hasIpv6 ? `:${of},:::${of}` : `:${of}`);
  const [api, gateway] = [`127.0.0.1:${ports.api}`, `127.0.0.1:${ports.gateway}`];
  return renderEnvText([
    'Settings of the proxy.',
    'All addresses of IPv4, and with three colons those of IPv6.',
    ['HTTPS_BIND', everywhere(port === '' ? '443' : port)],
    ['HTTP_BIND', everywhere('80')],
    ['CERTIFICATE', inFolder(installation, 'proxy/public.pem')],
    ['CA_FILE', inFolder(installation, 'proxy/ca.pem')],
    ['UPSTREAM_NAME', upstreamName],
    'The configuration of the proxy has two of each. Without a second process, both are the same.',
    ['API_1', api],
    ['API_2', api],
    ['GATEWAY_1', gateway],
    ['GATEWAY_2', gateway],
  ]);
}
