import { join } from 'node:path';
import { renderEnvText } from '../env-text.ts';
import { caFileOf, type InstallationFacts, type MachineFacts } from '../layout.ts';
import { addressesOf, machinePorts, peersOf } from './machines.ts';
import type { MachineSecrets } from './secrets.ts';

/** Configuration of the engines that only an installation on three machines has. */

/** The name in the certificates that members of etcd accept from each other. */
export const etcdName = 'etcd.millrace.internal';
/** The name in the certificates that nodes of Restate accept from each other. */
export const restateName = 'restate.millrace.internal';

type Installation = InstallationFacts & { readonly machines: MachineFacts };

export function renderEtcdEnv({ folder, stateFolder, machines }: Installation): string {
  const { all, self } = machines;
  const clients = `https://${self.address}:${machinePorts.etcdClients}`;
  const peers = (address: string): string => `https://${address}:${machinePorts.etcdPeers}`;
  const [certificate, key] = ['etcd/server.pem', 'etcd/server.key'].map((file) => join(folder, file)) as [
    string,
    string,
  ];
  return renderEnvText([
    'Settings of etcd, which stores which PostgreSQL is the primary.',
    ['ETCD_NAME', self.name],
    ['ETCD_DATA_DIR', join(stateFolder, 'etcd')],
    ['ETCD_LISTEN_CLIENT_URLS', clients],
    ['ETCD_ADVERTISE_CLIENT_URLS', clients],
    ['ETCD_LISTEN_PEER_URLS', peers(self.address)],
    ['ETCD_INITIAL_ADVERTISE_PEER_URLS', peers(self.address)],
    ['ETCD_INITIAL_CLUSTER', all.map(({ name, address }) => `${name}=${peers(address)}`).join(',')],
    ['ETCD_INITIAL_CLUSTER_STATE', 'new'],
    ['ETCD_INITIAL_CLUSTER_TOKEN', 'millrace'],
    'A disk that stalls for a second must not cause an election.',
    ['ETCD_HEARTBEAT_INTERVAL', '200'],
    ['ETCD_ELECTION_TIMEOUT', '2000'],
    ['ETCD_AUTO_COMPACTION_RETENTION', '1'],
    ['ETCD_CERT_FILE', certificate],
    ['ETCD_KEY_FILE', key],
    ['ETCD_TRUSTED_CA_FILE', caFileOf(folder)],
    ['ETCD_CLIENT_CERT_AUTH', 'true'],
    ['ETCD_PEER_CERT_FILE', certificate],
    ['ETCD_PEER_KEY_FILE', key],
    ['ETCD_PEER_TRUSTED_CA_FILE', caFileOf(folder)],
    ['ETCD_PEER_CLIENT_CERT_AUTH', 'true'],
    ['ETCD_PEER_CERT_ALLOWED_HOSTNAME', etcdName],
  ]);
}

/** For `etcdctl` of an operator: `. FILE; etcdctl endpoint health`. */
export function renderEtcdctlEnv({ folder, machines }: Installation): string {
  const endpoints = addressesOf(machines).map((address) => `https://${address}:${machinePorts.etcdClients}`);
  return [
    ['ETCDCTL_API', '3'],
    ['ETCDCTL_ENDPOINTS', endpoints.join(',')],
    ['ETCDCTL_CACERT', caFileOf(folder)],
    ['ETCDCTL_CERT', join(folder, 'patroni/server.pem')],
    ['ETCDCTL_KEY', join(folder, 'patroni/server.key')],
  ]
    .map(([name, value]) => `export ${name}=${value}\n`)
    .join('');
}

/** The settings of this machine. cluster.yml beside it has those that are equal on all machines. YAML includes JSON. */
export function renderPatroniYml(
  installation: Installation,
  { superuserPassword, replicationPassword, rewindPassword, patroniPassword }: MachineSecrets,
): string {
  const { folder, stateFolder, ports, machines } = installation;
  const { self } = machines;
  const ca = caFileOf(folder);
  const [certfile, keyfile] = [join(folder, 'patroni/server.pem'), join(folder, 'patroni/server.key')];
  const tls = { sslmode: 'verify-full', sslrootcert: ca };
  const own = `${self.address}:${ports.postgres}`;
  const rest = `${self.address}:${machinePorts.patroni}`;
  const config = {
    scope: 'millrace',
    name: self.name,
    restapi: {
      ...{ listen: rest, connect_address: rest, certfile, keyfile, cafile: ca },
      // Without it, anybody who reaches the port could restart PostgreSQL.
      authentication: { username: 'patroni', password: patroniPassword },
    },
    ctl: { cacert: ca },
    etcd3: {
      hosts: addressesOf(machines).map((address) => `${address}:${machinePorts.etcdClients}`),
      ...{ protocol: 'https', cacert: ca, cert: certfile, key: keyfile },
    },
    postgresql: {
      listen: `${self.address},127.0.0.1:${ports.postgres}`,
      connect_address: own,
      data_dir: join(stateFolder, 'postgres/data'),
      pgpass: join(stateFolder, 'postgres/pgpass'),
      bin_dir: installation.postgresPrograms,
      use_unix_socket: true,
      use_unix_socket_repl: true,
      authentication: {
        superuser: { username: 'postgres', password: superuserPassword, ...tls },
        replication: { username: 'millrace_replicator', password: replicationPassword, ...tls },
        rewind: { username: 'millrace_rewind', password: rewindPassword, ...tls },
      },
      parameters: {
        unix_socket_directories: '/run/postgresql',
        ssl: 'on',
        ssl_cert_file: join(folder, 'postgres/server.pem'),
        ssl_key_file: join(folder, 'postgres/server.key'),
      },
      pg_hba: pgHba(machines),
    },
  };
  return `# The PostgreSQL of this machine. cluster.yml has the settings of all machines.\n${JSON.stringify(config, null, 2)}\n`;
}

/**
 * As in cluster.yml, but only for these machines. The superuser may connect from them too, so that `init` works on any of them.
 */
function pgHba(machines: MachineFacts): readonly string[] {
  const hosts = [...addressesOf(machines), '127.0.0.1'];
  return [
    'local all postgres peer',
    'local replication postgres peer',
    'local replication millrace_replicator scram-sha-256',
    ...hosts.map((address) => `hostssl all all ${address}/32 scram-sha-256`),
    ...hosts.map((address) => `hostssl replication millrace_replicator ${address}/32 scram-sha-256`),
  ];
}

/** The environment of deploy/proxy/internal.cfg. */
export function renderInternalProxyEnv({ folder, machines, ports }: Installation): string {
  const [first, second] = peersOf(machines).map(({ address }) => address);
  return renderEnvText([
    'Settings of the internal proxy, through which machines reach the engines of each other.',
    ['SELF', machines.self.address],
    ['PEER_1', first ?? ''],
    ['PEER_2', second ?? ''],
    ['CERTIFICATE', join(folder, 'internal/server.pem')],
    ['CA_FILE', caFileOf(folder)],
    ['VALKEY_PORT', String(ports.valkey)],
    ['PATRONI_PORT', String(machinePorts.patroni)],
    ['RESTATE_INGRESS', `127.0.0.1:${ports.restateIngress}`],
    ['RESTATE_ADMIN', `127.0.0.1:${ports.restateAdmin}`],
    ['WORKER_HANDLERS', `127.0.0.1:${ports.workerHandlers}`],
    ['WORKER_HEALTH', `127.0.0.1:${ports.workerHealth}`],
    ['GATEWAY_HEALTH', `127.0.0.1:${ports.gatewayHealth}`],
  ]);
}

/** Part of nats.conf. */
export function renderNatsCluster(
  { folder, machines }: Installation,
  { natsRoutePassword }: Pick<MachineSecrets, 'natsRoutePassword'>,
): readonly string[] {
  const quoted = (text: string): string => JSON.stringify(text);
  const route = (address: string): string =>
    quoted(`tls://route:${natsRoutePassword}@${address}:${machinePorts.natsRoutes}`);
  return [
    'cluster {',
    '  name: "millrace"',
    `  listen: "${machines.self.address}:${machinePorts.natsRoutes}"`,
    `  authorization { user: "route", password: ${quoted(natsRoutePassword)} }`,
    `  routes: [${peersOf(machines)
      .map(({ address }) => route(address))
      .join(', ')}]`,
    '  tls {',
    `    cert_file: ${quoted(join(folder, 'nats/server.pem'))}`,
    `    key_file: ${quoted(join(folder, 'nats/server.key'))}`,
    `    ca_file: ${quoted(caFileOf(folder))}`,
    '    verify: true',
    '  }',
    '}',
  ];
}

/** Part of restate.toml: what replaces the settings of a single node. */
export function renderRestateCluster({ folder, machines, ports }: Installation): {
  readonly node: readonly string[];
  readonly sections: readonly string[];
} {
  const quoted = (text: string): string => JSON.stringify(text);
  const fabric = (address: string): string => `https://${address}:${ports.restateFabric}/`;
  return {
    node: [
      `node-name = ${quoted(machines.self.name)}`,
      `auto-provision = ${String(machines.isFirst)}`,
      'default-replication = 2',
      `bind-ip = ${quoted(machines.self.address)}`,
      `advertised-address = ${quoted(fabric(machines.self.address))}`,
    ],
    sections: [
      '',
      '[metadata-client]',
      'type = "replicated"',
      `addresses = [${addressesOf(machines)
        .map((address) => quoted(fabric(address)))
        .join(', ')}]`,
      '',
      '[bifrost]',
      'default-provider = "replicated"',
      '',
      '[tls]',
      'mode = "require"',
      `cert-file = ${quoted(join(folder, 'restate/server.pem'))}`,
      `key-file = ${quoted(join(folder, 'restate/server.key'))}`,
      `ca-files = [${quoted(caFileOf(folder))}]`,
      'require-client-auth = true',
      `allowed-subject-names = [${quoted(restateName)}]`,
    ],
  };
}

/** The part of a PostgreSQL URL after the password. */
export function postgresPlace({
  ports,
  machines,
}: Pick<InstallationFacts, 'ports' | 'machines'>): (database: string) => string {
  if (machines === null) return (database) => `127.0.0.1:${ports.postgres}/${database}?sslmode=verify-full`;
  const servers = addressesOf(machines)
    .map((address) => `${address}:${ports.postgres}`)
    .join(',');
  return (database) => `${servers}/${database}?sslmode=verify-full&target_session_attrs=read-write`;
}
