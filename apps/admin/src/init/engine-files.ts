import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { natsPermissions, natsRoles, renderNatsUsers } from '@millrace/core/nats-permissions';
import { natsPublicKey } from '@millrace/platform/nats';
import { CommandError } from '../command.ts';
import { renderValkeyUsers } from '@millrace/platform/valkey';
import { valkeyGrants, valkeyRoles } from '../valkey-grants.ts';
import type { InstallationFacts, MachineFacts } from './layout.ts';
import { renderNatsCluster, renderRestateCluster } from './machines/engine-files.ts';
import type { MachineSecrets } from './machines/secrets.ts';
import type { Secrets } from './secrets.ts';

/** Configuration files of NATS, Valkey and Restate. Their strings in double quotes have the escapes of JSON. */

const quoted = (text: string): string => JSON.stringify(text);

const areSeveral = (
  installation: InstallationFacts,
): installation is InstallationFacts & { readonly machines: MachineFacts } => installation.machines !== null;

/** The password of routes is only for three machines. */
export function renderNatsConf(
  installation: InstallationFacts,
  secrets: Pick<MachineSecrets, 'natsRoutePassword'> | null,
): string {
  const { folder, stateFolder, ports, machines } = installation;
  return [
    `server_name: "${machines === null ? 'millrace' : `millrace-${machines.self.name}`}"`,
    `listen: "${machines?.self.address ?? '127.0.0.1'}:${ports.nats}"`,
    `http: "127.0.0.1:${ports.natsMonitor}"`,
    'jetstream {',
    `  store_dir: ${quoted(join(stateFolder, 'nats'))}`,
    '  # Without "always", a power failure can lose acknowledged usage, which is then never charged.',
    '  sync_interval: always',
    '  max_file_store: 10GB',
    '  max_memory_store: 256MB',
    '}',
    'tls {',
    `  cert_file: ${quoted(join(folder, 'nats/server.pem'))}`,
    `  key_file: ${quoted(join(folder, 'nats/server.key'))}`,
    '}',
    ...(areSeveral(installation) && secrets !== null ? renderNatsCluster(installation, secrets) : []),
    'include "users.conf"',
    '',
  ].join('\n');
}

export function renderNatsUsersFile({ cell, natsPrefix }: InstallationFacts, { natsSeeds }: Secrets): string {
  return renderNatsUsers(
    natsRoles.map((role) => ({
      name: role,
      publicKeys: [publicKeyOf(role, natsSeeds[role])],
      permissions: natsPermissions(role, { prefix: natsPrefix, cell }),
    })),
  );
}

function publicKeyOf(role: string, seed = ''): string {
  const key = natsPublicKey(seed);
  if (key === null)
    throw new CommandError(`The file ${role}/nats.seed contains no seed (SU…). Delete or repair it.`);
  return key;
}

export function renderValkeyConf({ folder, stateFolder, ports, machines }: InstallationFacts): string {
  return [
    // With three machines, the internal proxy listens on loopback and selects one of the three.
    `bind ${machines?.self.address ?? '127.0.0.1'}`,
    'port 0',
    `tls-port ${ports.valkey}`,
    `tls-cert-file ${quoted(join(folder, 'valkey/server.pem'))}`,
    `tls-key-file ${quoted(join(folder, 'valkey/server.key'))}`,
    '# Users have passwords instead of client certificates.',
    'tls-auth-clients no',
    `aclfile ${quoted(join(folder, 'valkey/users.acl'))}`,
    `dir ${quoted(join(stateFolder, 'valkey'))}`,
    '# Credit leases: Valkey must restart empty rather than with old data, and must never evict keys.',
    'save ""',
    'appendonly no',
    'maxmemory 512mb',
    'maxmemory-policy noeviction',
    'daemonize no',
    'supervised auto',
    '',
  ].join('\n');
}

export function renderValkeyUsersFile({ natsPrefix }: InstallationFacts, { valkeyUrls }: Secrets): string {
  const user = (url = '') => {
    const { username, password } = new URL(url);
    const hash = createHash('sha256').update(decodeURIComponent(password)).digest('hex');
    return { name: decodeURIComponent(username), passwordHashes: [hash] };
  };
  return renderValkeyUsers([
    ...valkeyRoles.map((role) => ({ ...user(valkeyUrls[role]), grants: valkeyGrants(role, natsPrefix) })),
    // With it, doctor checks the running server.
    { ...user(valkeyUrls['all']), grants: null },
  ]);
}

export function renderRestateToml(installation: InstallationFacts): string {
  const { folder, stateFolder, ports } = installation;
  const cluster = areSeveral(installation) ? renderRestateCluster(installation) : null;
  return [
    'cluster-name = "millrace"',
    ...(cluster?.node ?? [
      'node-name = "millrace"',
      'auto-provision = true',
      'default-replication = 1',
      'bind-ip = "127.0.0.1"',
      `advertised-address = "http://127.0.0.1:${ports.restateFabric}/"`,
    ]),
    `base-dir = ${quoted(join(stateFolder, 'restate'))}`,
    'roles = ["http-ingress", "admin", "worker", "log-server", "metadata-server"]',
    'default-num-partitions = 8',
    'listen-mode = "tcp"',
    `bind-port = ${ports.restateFabric}`,
    'disable-telemetry = true',
    'log-disable-ansi-codes = true',
    'log-format = "compact"',
    'shutdown-timeout = "10s"',
    'rocksdb-total-memory-size = "512 MiB"',
    ...(cluster?.sections ?? []),
    '',
    '[ingress]',
    'bind-ip = "127.0.0.1"',
    `bind-port = ${ports.restateIngress}`,
    '',
    '[admin]',
    'bind-ip = "127.0.0.1"',
    `bind-port = ${ports.restateAdmin}`,
    '',
    '[worker.invoker]',
    `request-identity-private-key-pem-file = ${quoted(join(folder, 'restate/identity.pem'))}`,
    '',
  ].join('\n');
}
