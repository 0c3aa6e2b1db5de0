import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import type { IncusClusterEndpoints } from '@millrace/services';

/** A machine created with four Incus calls, without anything that Millrace adds. */

export interface BaselineMachine {
  readonly name: string;
  readonly member: string;
  readonly address: string;
  readonly port: number;
  readonly gpuPciAddresses: readonly string[];
  readonly publicKey: string;
}

export interface BaselineIncus {
  /** Resolves when the engine reports that the machine runs. */
  create(machine: BaselineMachine): Promise<void>;
  remove(name: string): Promise<void>;
  close(): void;
}

const CALL_TIMEOUT_MS = 60_000;

export function connectBaselineIncus(cluster: IncusClusterEndpoints): BaselineIncus {
  const [entry] = cluster.members;
  if (entry === undefined) throw new Error('The cluster has no members.');
  const agent = new Agent({
    keepAlive: true,
    cert: readFileSync(cluster.clientCertificateFile),
    key: readFileSync(cluster.clientKeyFile),
    ca: readFileSync(cluster.serverCertificateFile),
    // The certificate is pinned and names no host.
    checkServerIdentity: () => undefined,
  });

  const send = (method: string, path: string, body: string | null, headers = {}): Promise<Started> =>
    sendTo({ agent, url: entry.url }, { method, path, body, headers });
  const perform = async (method: string, path: string, body: object): Promise<void> => {
    const { operation } = await send(method, path, JSON.stringify(body));
    // The engine appends the project as a query.
    const [operationPath = ''] = operation.split('?');
    if (operationPath !== '') await send('GET', `${operationPath}/wait?timeout=60`, null);
  };
  const keyFile = (name: string, path: string, type: string, content: string): Promise<unknown> =>
    send('POST', `/1.0/instances/${name}/files?path=${encodeURIComponent(path)}`, content, {
      'content-type': 'application/octet-stream',
      'x-incus-uid': '0',
      'x-incus-gid': '0',
      'x-incus-mode': type === 'directory' ? '0700' : '0600',
      'x-incus-type': type,
    });

  return {
    async create(machine) {
      const { name, member, address, port, gpuPciAddresses, publicKey } = machine;
      const gpus: Record<string, object> = {};
      for (const pci of gpuPciAddresses)
        gpus[`gpu-${pci.slice(5, 7)}`] = { type: 'gpu', gputype: 'physical', pci };
      await perform('POST', `/1.0/instances?target=${member}`, {
        name,
        type: 'container',
        source: { type: 'image', alias: cluster.sshImageAlias },
        profiles: [],
        devices: {
          root: { type: 'disk', path: '/', pool: 'default' },
          eth0: { type: 'nic', name: 'eth0', network: cluster.network },
          ssh: { type: 'proxy', listen: `tcp:${address}:${port}`, connect: 'tcp:127.0.0.1:22' },
          ...gpus,
        },
      });
      await keyFile(name, '/root/.ssh', 'directory', '');
      await keyFile(name, '/root/.ssh/authorized_keys', 'file', `${publicKey}\n`);
      await perform('PUT', `/1.0/instances/${name}/state`, { action: 'start', timeout: 30 });
    },
    async remove(name) {
      await perform('PUT', `/1.0/instances/${name}/state`, { action: 'stop', force: true, timeout: 30 });
      await perform('DELETE', `/1.0/instances/${name}`, {});
    },
    close: () => agent.destroy(),
  };
}

interface Started {
  readonly operation: string;
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

function sendTo(
  { agent, url }: { agent: Agent; url: string },
  { method, path, body, headers }: Call,
): Promise<Started> {
  return new Promise((resolve, reject) => {
    const call = request(
      `${url}${path}`,
      {
        method,
        agent,
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body ?? ''),
          ...headers,
        },
        timeout: CALL_TIMEOUT_MS,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (part: Buffer) => chunks.push(part));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const json = JSON.parse(text) as {
            operation?: string;
            error?: string;
            metadata?: { err?: string };
          };
          const problem = json.error !== undefined && json.error !== '' ? json.error : json.metadata?.err;
          if (problem !== undefined && problem !== '') reject(new Error(`${method} ${path}: ${problem}`));
          else resolve({ operation: json.operation ?? '' });
        });
      },
    );
    call.on('timeout', () => call.destroy(new Error(`${method} ${path} took too long.`)));
    call.on('error', reject);
    call.end(body);
  });
}
