import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { expect, test } from 'vitest';

import { base58, ensureIdentityKey, identityPublicKey } from '../identity-key.ts';
import { portSpan, type Site } from '../site.ts';
import { caddy, renderCaddyJson } from './caddy.ts';
import { isDaemonChild, mountsBelow } from './incus-leftovers.ts';
import { bridgeOf, incus, isFullRoot } from './incus.ts';
import { engineNamed, engines } from './index.ts';
import { renderIronicConf } from './ironic-conf.ts';
import { isRecentNats, nats, renderNatsConf } from './nats.ts';
import { renderPostgresConf, secureHba } from './postgres.ts';
import { renderRestateToml, restate } from './restate.ts';
import { renderValkeyConf } from './valkey.ts';

const site: Site = { stateDir: '/s', portBase: 20_000, cacheDir: '/c', isRoot: true };

test('engines: nodes of a site have distinct names and distinct ports inside its block', () => {
  const nodes = engines.flatMap((engine) =>
    engine.topologies.flatMap((topology) => engine.nodes(site, topology)),
  );
  const ports = nodes.flatMap((node) => Object.values(node.ports));
  expect(new Set(nodes.map((node) => node.name)).size).toBe(nodes.length);
  expect(new Set(ports).size).toBe(ports.length);
  for (const port of ports) {
    expect(port).toBeGreaterThanOrEqual(site.portBase);
    expect(port).toBeLessThan(site.portBase + portSpan);
  }
});

test('engineNamed: refuses an unknown engine and lists the known ones', () => {
  expect(engineNamed('nats')).toBe(nats);
  expect(() => engineNamed('mysql')).toThrow(/no engine called mysql/u);
});

test('PostgreSQL configuration: is durable, binds loopback only and has no socket file', () => {
  const lines = renderPostgresConf(20_000).split('\n');
  for (const line of [
    "listen_addresses = '127.0.0.1'",
    'port = 20000',
    "unix_socket_directories = ''",
    'fsync = on',
    'synchronous_commit = on',
    'full_page_writes = on',
    'max_connections = 200',
  ]) {
    expect(lines).toContain(line);
  }
});

test('PostgreSQL configuration: a secure site requires TLS and a password', () => {
  const tls = { certificateFile: '/s/server.pem', keyFile: "/it's/server.key" };
  const lines = renderPostgresConf(20_000, { tls, hbaFile: '/s/pg_hba.conf' }).split('\n');
  expect(lines).toContain('ssl = on');
  expect(lines).toContain("ssl_key_file = '/it''s/server.key'");
  expect(lines).toContain("hba_file = '/s/pg_hba.conf'");
  expect(
    secureHba
      .trim()
      .split('\n')
      .every((line) => /^hostssl .* scram-sha-256$/u.test(line)),
  ).toBe(true);
});

test('Valkey configuration: persists nothing and evicts nothing', () => {
  const lines = renderValkeyConf('/s/with space/valkey', 20_010).split('\n');
  for (const line of [
    'bind 127.0.0.1',
    'port 20010',
    'dir "/s/with space/valkey"',
    'appendonly no',
    'save ""',
    'maxmemory-policy noeviction',
  ]) {
    expect(lines).toContain(line);
  }
});

test('NATS configuration: syncs every message to disk, and cluster nodes have routes to each other', () => {
  const ports = { client: 20_021, monitor: 20_031, route: 20_025 };
  const alone = renderNatsConf({ name: 'nats', home: '/s/nats', ports, routePorts: [] });
  expect(alone).toContain('sync_interval: always');
  expect(alone).toContain('listen: "127.0.0.1:20021"');
  expect(alone).not.toContain('cluster');
  const one = renderNatsConf({ name: 'nats-1', home: '/s/nats-1', ports, routePorts: [20_026, 20_027] });
  expect(one).toContain('sync_interval: always');
  expect(one).toContain('routes: ["nats://127.0.0.1:20026", "nats://127.0.0.1:20027"]');
});

test('Caddy: starts with only its admin API on loopback and resumes its last configuration', () => {
  expect(JSON.parse(renderCaddyJson(20_086))).toEqual({ admin: { listen: '127.0.0.1:20086' } });
  const [node] = caddy.nodes(site, 'single');
  if (node === undefined) throw new Error('no node');
  const group = { site, engine: caddy, topology: 'single', nodes: [node] } as const;
  const { args, env } = caddy.start(group, node);
  expect(args).toContain('--resume');
  // No path is in a folder of the user who starts Caddy.
  expect(Object.values(env ?? {}).every((folder) => folder.startsWith('/s/caddy'))).toBe(true);
});

test('Ironic configuration: binds loopback, requires a password, and custom settings override the defaults', () => {
  const settings = {
    home: '/s/ironic',
    port: 20_088,
    filesFolder: '/s/files',
    filesUrl: 'http://127.0.0.1:20089',
  };
  const lines = renderIronicConf(settings).split('\n');
  for (const line of [
    'auth_strategy = http_basic',
    'host_ip = 127.0.0.1',
    'port = 20088',
    'connection = sqlite:////s/ironic/ironic.sqlite',
    'automated_clean = true',
  ]) {
    expect(lines).toContain(line);
  }
  const conf = { fake: { deploy_delay: 2 }, conductor: { deploy_callback_timeout: 9 } };
  const rendered = renderIronicConf({ ...settings, conf });
  expect(rendered).toContain('[fake]\ndeploy_delay = 2\n');
  expect(rendered).toMatch(/\[conductor\][^[]*automated_clean = true[^[]*deploy_callback_timeout = 9/u);
});

test.each([
  ['nats-server: v2.15.1', true],
  ['nats-server: v2.16.0-RC.1', true],
  ['nats-server: v3.0.0', true],
  ['nats-server: v2.9.10', false],
  ['something else', false],
])('isRecentNats: "%s" gives %s', (line, recent) => {
  expect(isRecentNats(line)).toBe(recent);
});

test('Restate configuration: binds loopback, disables telemetry and signs calls', () => {
  const [node] = restate.nodes(site, 'single');
  if (node === undefined) throw new Error('no node');
  const text = renderRestateToml({
    node,
    peers: [node],
    clustered: false,
    home: '/s/restate',
    keyFile: '/s/k.pem',
  });
  expect(text.match(/bind-ip = "127\.0\.0\.1"/gu)).toHaveLength(3);
  expect(text).toContain('listen-mode = "tcp"');
  expect(text).toContain('disable-telemetry = true');
  expect(text).toContain('auto-provision = true');
  expect(text).toContain('request-identity-private-key-pem-file = "/s/k.pem"');
  expect(text).not.toContain('metadata-client');
});

test('Restate cluster configuration: replicates metadata and logs, and disables automatic provisioning', () => {
  const peers = restate.nodes(site, 'cluster');
  const [node] = peers;
  if (node === undefined) throw new Error('no node');
  const text = renderRestateToml({ node, peers, clustered: true, home: '/s/restate-1', keyFile: '/s/k.pem' });
  expect(text).toContain('auto-provision = false');
  expect(text).toContain('default-replication = 2');
  expect(text).toContain(
    'addresses = ["http://127.0.0.1:20061/", "http://127.0.0.1:20062/", "http://127.0.0.1:20063/"]',
  );
  expect(text).toContain('default-provider = "replicated"');
});

test('base58: returns known values', () => {
  expect(base58(Buffer.from('Hello World!'))).toBe('2NEpo7TZRRrLZSi2U');
  expect(base58(Buffer.from('0000287fb4cd', 'hex'))).toBe('11233QC4');
  expect(base58(Buffer.alloc(3))).toBe('111');
});

test('identity key: is created once, private, and always gives the same public key', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-key-'));
  const file = path.join(folder, 'k.pem');
  ensureIdentityKey(file);
  const first = identityPublicKey(file);
  ensureIdentityKey(file);
  expect(identityPublicKey(file)).toBe(first);
  expect(first).toMatch(/^publickeyv1_[1-9A-HJ-NP-Za-km-z]{43,44}$/u);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  rmSync(folder, { recursive: true });
});

test('bridgeOf: gives each port base a valid bridge name and its own subnet', () => {
  const bases = Array.from({ length: 31_000 }, (_, index) => 1024 + index);
  const bridges = bases.map(bridgeOf);
  expect(new Set(bridges.map((bridge) => bridge.subnet)).size).toBe(bases.length);
  for (const { name, subnet } of bridges) {
    expect(name.length).toBeLessThanOrEqual(15);
    const octets = subnet.replace('/24', '').split('.').map(Number);
    expect(octets.every((octet) => octet >= 0 && octet <= 255)).toBe(true);
  }
});

test('Incus: reports that it needs root', () => {
  expect(incus.obstacle?.({ ...site, isRoot: false })).toMatch(/needs root/u);
});

test('isFullRoot: requires the capabilities for networks, mounts and device nodes', () => {
  expect(isFullRoot('Name:\tnode\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n')).toBe(true);
  // The default capabilities of root in a container.
  expect(isFullRoot('Name:\tnode\nCapEff:\t00000000a80425fb\nSeccomp:\t2\n')).toBe(false);
  expect(isFullRoot('')).toBe(false);
});

test('mountsBelow: returns the mounts inside a folder, deepest first, without those of its siblings', () => {
  const info = [
    '22 1 0:21 / / rw - ext4 /dev/vda rw',
    '30 22 0:30 / /s/incus/var/pools rw - btrfs /dev/loop0 rw',
    String.raw`31 30 0:31 / /s/incus/var/pools/with\040space rw - tmpfs tmpfs rw`,
    '32 22 0:32 / /s/incus/variant rw - tmpfs tmpfs rw',
  ].join('\n');
  expect(mountsBelow(info, '/s/incus/var')).toEqual(['/s/incus/var/pools/with space', '/s/incus/var/pools']);
});

test('isDaemonChild: matches processes of the daemon, not those of users who read its files', () => {
  const dir = '/s/incus/var';
  expect(isDaemonChild('dnsmasq --dhcp-leasefile=/s/incus/var/networks/x', dir)).toBe(true);
  expect(isDaemonChild('[lxc monitor] /s/incus/var/containers c1', dir)).toBe(true);
  expect(isDaemonChild('/usr/libexec/incus/incusd forkproxy /s/incus/var/x', dir)).toBe(true);
  expect(isDaemonChild('tail -f /s/incus/var/logs/x', dir)).toBe(false);
  expect(isDaemonChild('dnsmasq --dhcp-leasefile=/other/incus/var/networks/x', dir)).toBe(false);
});
