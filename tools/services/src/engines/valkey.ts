import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Engine } from '../engine.ts';
import { isInstalled } from '../install/commands.ts';
import { exchangeText } from '../loopback-client.ts';
import { caFile, ensureServerCertificate, type ServerTlsFiles } from '../secure/site-tls.ts';
import { renderAclFile, valkeyLogins, valkeySuperuser } from '../secure/valkey-users.ts';
import { knownHome, nodeHome, writeAtomically, type Site } from '../site.ts';

export interface SecureValkey {
  readonly tls: ServerTlsFiles;
  readonly aclFile: string;
}

export function renderValkeyConf(home: string, port: number, secure?: SecureValkey): string {
  return [
    'bind 127.0.0.1',
    ...(secure === undefined ? [`port ${port}`] : renderSecure(port, secure)),
    `dir ${JSON.stringify(home)}`,
    // Valkey must restart empty rather than stale, and must never evict keys.
    'appendonly no',
    'save ""',
    'maxmemory 256mb',
    'maxmemory-policy noeviction',
    // The tool identifies its process by the configuration file in the command line.
    'set-proc-title no',
    'daemonize no',
    '',
  ].join('\n');
}

/** As in configuration files and inline commands. */
const quoted = (text: string): string => JSON.stringify(text);

function renderSecure(port: number, { tls, aclFile }: SecureValkey): readonly string[] {
  return [
    'port 0',
    `tls-port ${port}`,
    `tls-cert-file ${JSON.stringify(tls.certificateFile)}`,
    `tls-key-file ${JSON.stringify(tls.keyFile)}`,
    // Users have passwords instead of client certificates.
    'tls-auth-clients no',
    `aclfile ${JSON.stringify(aclFile)}`,
  ];
}

function aclFileIn(home: string): string {
  return path.join(home, 'users.acl');
}

async function secureFiles(site: Site, home: string): Promise<SecureValkey | undefined> {
  if (site.secure !== true) return undefined;
  const aclFile = aclFileIn(home);
  writeAtomically(aclFile, renderAclFile(site), 0o600);
  return { tls: await ensureServerCertificate(site, home), aclFile };
}

export const valkey: Engine = {
  name: 'valkey',
  title: 'Valkey 8',
  topologies: ['single'],
  stop: { signal: 'SIGTERM', timeoutMs: 10_000 },
  readyTimeoutMs: 180_000,

  async needs() {
    if (await isInstalled('valkey-server')) return [];
    return [{ kind: 'packages', from: 'backports', packages: ['valkey-server', 'valkey-tools'] }];
  },

  nodes(site) {
    return [{ name: 'valkey', index: 0, ports: { client: site.portBase + 10 } }];
  },

  async configure({ site }, node) {
    const home = nodeHome(site, node.name);
    const secure = await secureFiles(site, home);
    writeFileSync(path.join(home, 'valkey.conf'), renderValkeyConf(home, node.ports['client'] ?? 0, secure));
  },

  start({ site }, node) {
    return { file: 'valkey-server', args: [path.join(knownHome(site, node.name), 'valkey.conf')] };
  },

  async ready({ site }, node) {
    const isSecure = site.secure === true;
    const { user, password } = isSecure ? valkeySuperuser(site) : { user: '', password: '' };
    const response = await exchangeText({
      port: node.ports['client'] ?? 0,
      tls: isSecure ? { ca: readFileSync(caFile(site), 'utf8') } : undefined,
      send: [...(isSecure ? [`AUTH ${user} ${password}\r\n`] : []), 'PING\r\nINFO server\r\n'],
      until: (text) => text.includes('config_file:') && text.endsWith('\r\n'),
    });
    const own = path.join(knownHome(site, node.name), 'valkey.conf');
    if (!response.startsWith(isSecure ? '+OK\r\n+PONG' : '+PONG'))
      throw new Error(`answered ${response.split('\r\n')[0]} to PING`);
    if (!response.includes(`config_file:${own}\r\n`)) {
      throw new Error('the server on this port has another configuration file');
    }
  },

  endpoints({ site, nodes: [node] }) {
    const place = `127.0.0.1:${node?.ports['client']}`;
    if (site.secure !== true) return { valkeyUrl: `redis://${place}` };
    const { user, password } = valkeySuperuser(site);
    return { valkeyUrl: `rediss://${user}:${password}@${place}` };
  },
  async reloadCertificate({ site }, node) {
    const { user, password } = valkeySuperuser(site);
    const { certificateFile, keyFile } = await ensureServerCertificate(site, knownHome(site, node.name));
    const response = await exchangeText({
      port: node.ports['client'] ?? 0,
      tls: { ca: readFileSync(caFile(site), 'utf8') },
      send: [
        `AUTH ${user} ${password}\r\n`,
        `CONFIG SET tls-cert-file ${quoted(certificateFile)} tls-key-file ${quoted(keyFile)}\r\n`,
      ],
      until: (text) => text.split('\r\n').length > 2,
    });
    if (response !== '+OK\r\n+OK\r\n') throw new Error(`answered ${response} to the new certificate`);
  },

  secureEndpoints({ site, nodes: [node] }) {
    return {
      valkey: valkeyLogins(site),
      valkeyUsersFile: aclFileIn(knownHome(site, node?.name ?? 'valkey')),
    };
  },
};
