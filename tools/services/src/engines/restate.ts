import { existsSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

import type { Engine, Group, Launch, NodeSpec } from '../engine.ts';
import { ensureIdentityKey, identityPublicKey } from '../identity-key.ts';
import { runOrThrow, run } from '../processes.ts';
import { knownHome, nodeHome, type Site } from '../site.ts';
import { httpGet, httpPost } from '../loopback-client.ts';
import { caFile } from '../secure/site-tls.ts';
import { haproxy } from './programs.ts';
import {
  checkRestateProxy,
  configureRestateProxy,
  reloadRestateProxy,
  restateProxyName,
  restateWorkerTls,
  startRestateProxy,
} from '../secure/restate-proxy.ts';

// `import.meta.resolve` does not exist in vitest, where test set-up also calls this tool.
const { resolve } = createRequire(import.meta.url);

// The platform packages are used directly, because the wrapper package reports installations to its vendor.
const serverBinary = npmBinary(
  () => resolve('@restatedev/restate-server-linux-x64/package.json'),
  'restate-server',
);
const controlBinary = npmBinary(() => resolve('@restatedev/restatectl-linux-x64/package.json'), 'restatectl');

/** Path of a binary in node_modules, or the bare name if npm did not install it. */
function npmBinary(locate: () => string, name: string): string {
  try {
    return path.join(path.dirname(locate()), 'bin', name);
  } catch {
    return name;
  }
}

function keyFile(site: Site): string {
  return path.join(site.stateDir, 'restate-identity.pem');
}

function fabricUrl(node: NodeSpec): string {
  return `http://127.0.0.1:${node.ports['fabric']}`;
}

export function renderRestateToml(options: {
  readonly node: NodeSpec;
  readonly peers: readonly NodeSpec[];
  readonly clustered: boolean;
  readonly home: string;
  readonly keyFile: string;
}): string {
  const { node, peers, clustered } = options;
  const replication = clustered
    ? [
        '',
        '[metadata-client]',
        'type = "replicated"',
        `addresses = [${peers.map((peer) => JSON.stringify(`${fabricUrl(peer)}/`)).join(', ')}]`,
        '',
        '[bifrost]',
        'default-provider = "replicated"',
      ]
    : [];
  return [
    `cluster-name = "millrace-${clustered ? 'cluster' : 'single'}"`,
    `node-name = ${JSON.stringify(node.name)}`,
    `base-dir = ${JSON.stringify(path.join(options.home, 'data'))}`,
    'roles = ["http-ingress", "admin", "worker", "log-server", "metadata-server"]',
    // One command provisions the cluster once, so that three nodes never create three clusters.
    `auto-provision = ${!clustered}`,
    `default-replication = ${clustered ? 2 : 1}`,
    'default-num-partitions = 8',
    // Unix socket paths are limited to 108 bytes, and state folders may have longer ones.
    'listen-mode = "tcp"',
    'bind-ip = "127.0.0.1"',
    `bind-port = ${node.ports['fabric']}`,
    `advertised-address = "${fabricUrl(node)}/"`,
    'disable-telemetry = true',
    'log-disable-ansi-codes = true',
    'log-format = "compact"',
    'shutdown-timeout = "10s"',
    'rocksdb-total-memory-size = "256 MiB"',
    '',
    '[ingress]',
    'bind-ip = "127.0.0.1"',
    `bind-port = ${node.ports['ingress']}`,
    '',
    '[admin]',
    'bind-ip = "127.0.0.1"',
    `bind-port = ${node.ports['admin']}`,
    '',
    '[worker.invoker]',
    `request-identity-private-key-pem-file = ${JSON.stringify(options.keyFile)}`,
    ...replication,
    '',
  ].join('\n');
}

/** Any running node knows whether the cluster was provisioned. */
async function isProvisioned(nodes: readonly NodeSpec[]): Promise<boolean> {
  const addresses = nodes.map(fabricUrl).join(',');
  const status = await run(controlBinary, ['-s', addresses, 'status'], { timeoutMs: 10_000 });
  return status.code === 0;
}

/** Health checks pass seconds before the partitions have leaders. This query succeeds only when every partition is reachable. */
async function checkPartitions(node: NodeSpec): Promise<void> {
  await httpPost(`http://127.0.0.1:${node.ports['admin']}/query`, {
    query: 'select count(1) as n from sys_invocation_status',
  });
}

/** A server with this configuration file. */
export function restateCommand(configFile: string): Pick<Launch, 'file' | 'args'> {
  return { file: serverBinary, args: ['--config-file', configFile] };
}

/** Without the proxy of a secure site. */
function serversOf({ nodes }: Group): readonly NodeSpec[] {
  return nodes.filter(({ name }) => name !== restateProxyName);
}

export const restate: Engine = {
  name: 'restate',
  title: 'Restate 1.7',
  topologies: ['single', 'cluster'],
  stop: { signal: 'SIGTERM', timeoutMs: 20_000 },
  readyTimeoutMs: 180_000,

  async needs(site) {
    const missing = [serverBinary, controlBinary].filter((file) => !existsSync(file));
    return [
      ...missing.map(
        (file) => ({ kind: 'npm', package: `@restatedev/${path.basename(file)}-linux-x64` }) as const,
      ),
      ...(site.secure === true ? await haproxy.needs(site) : []),
    ];
  },

  nodes({ portBase, secure = false }, topology) {
    const indexes = topology === 'single' ? [0] : [1, 2, 3];
    const servers = indexes.map((index) => ({
      name: index === 0 ? 'restate' : `restate-${index}`,
      index,
      ports: { ingress: portBase + 40 + index, admin: portBase + 50 + index, fabric: portBase + 60 + index },
    }));
    const ports = { ingress: portBase + 44, admin: portBase + 54 };
    return secure ? [...servers, { name: restateProxyName, index: 4, ports }] : servers;
  },

  async configure(group, node) {
    const { site, topology } = group;
    if (node.name === restateProxyName) return configureRestateProxy(site);
    const nodes = serversOf(group);
    const home = nodeHome(site, node.name);
    ensureIdentityKey(keyFile(site));
    const clustered = topology === 'cluster';
    const toml = renderRestateToml({ node, peers: nodes, clustered, home, keyFile: keyFile(site) });
    writeFileSync(path.join(home, 'restate.toml'), toml);
  },

  start(group, node) {
    const { site } = group;
    const [first] = serversOf(group);
    if (node.name === restateProxyName && first !== undefined) return startRestateProxy(site, node, first);
    const command = restateCommand(path.join(knownHome(site, node.name), 'restate.toml'));
    // The authority of the workers' certificates.
    return site.secure === true ? { ...command, env: { SSL_CERT_FILE: caFile(site) } } : command;
  },

  async form(group, note) {
    const { topology } = group;
    const nodes = serversOf(group);
    const [first] = nodes;
    if (topology === 'single' || first === undefined || (await isProvisioned(nodes))) return;
    note('provisioning the cluster');
    await runOrThrow(controlBinary, ['-s', fabricUrl(first), 'provision', '--yes'], { timeoutMs: 30_000 });
  },

  async ready({ site }: Group, node) {
    if (node.name === restateProxyName) return checkRestateProxy(site, node);
    await checkPartitions(node);
    await httpGet(`http://127.0.0.1:${node.ports['ingress']}/restate/health`);
  },

  endpoints(group) {
    const { site } = group;
    const nodes = serversOf(group);
    ensureIdentityKey(keyFile(site));
    const ingressUrls = nodes.map((node) => `http://127.0.0.1:${node.ports['ingress']}`);
    const adminUrls = nodes.map((node) => `http://127.0.0.1:${node.ports['admin']}`);
    return {
      restate: {
        ingressUrl: ingressUrls[0] ?? '',
        adminUrl: adminUrls[0] ?? '',
        ingressUrls,
        adminUrls,
        identityPublicKey: identityPublicKey(keyFile(site)),
      },
    };
  },
  async reloadCertificate({ site }, node, pid) {
    if (node.name !== restateProxyName) throw new Error('only the proxy serves a certificate');
    await reloadRestateProxy(site, pid);
  },

  secureEndpoints({ site, nodes }) {
    const proxy = nodes.find(({ name }) => name === restateProxyName);
    return {
      restate: {
        ingressUrl: `https://127.0.0.1:${proxy?.ports['ingress']}`,
        adminUrl: `https://127.0.0.1:${proxy?.ports['admin']}`,
        ...restateWorkerTls(site),
      },
    };
  },
};
