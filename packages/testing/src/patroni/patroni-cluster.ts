import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  makeAuthority,
  postgresCommand,
  postgresOwner,
  postgresProgram,
  type Authority,
} from '@millrace/services';
import { freePorts } from '../network/ports.ts';
import { startCommand, type TestProcess } from '../processes/processes.ts';
import { eventually } from '../time/eventually.ts';
import { PatroniNode } from './patroni-node.ts';

const run = promisify(execFile);

/** The settings that we ship, which tests therefore use unchanged. */
const clusterFile = fileURLToPath(new URL('../../../../deploy/patroni/cluster.yml', import.meta.url));
const SCOPE = 'millrace';
const NODE_COUNT = 3;
const READY_MS = 180_000;

export interface PatroniMember {
  readonly name: string;
  readonly role: 'leader' | 'sync_standby' | 'replica';
  readonly state: string;
  readonly timeline?: number;
}

/** Three etcd members and three PostgreSQL servers with Patroni on loopback, for tests of failovers. Needs root. */
export interface PatroniCluster {
  readonly nodes: readonly PatroniNode[];
  /** For clients of one server. */
  readonly tls: { readonly ca: string };
  /** A URL with all servers, as processes get it. */
  url(login: { readonly user: string; readonly password: string }, database: string): string;
  /** The server that holds the lock of the leader and accepts writes. */
  primary(): Promise<PatroniNode>;
  members(): Promise<readonly PatroniMember[]>;
  /** Resolves when all nodes run, on one timeline, and one standby is synchronous. */
  whenHealthy(): Promise<void>;
  /** Makes the synchronous standby the primary. */
  switchover(): Promise<void>;
  /** Runs SQL as the administrator on the primary. Returns the lines of the result. */
  sql(text: string, database?: string): Promise<string>;
  /** The end of the logs of all nodes. */
  output(): string;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startPatroniCluster(): Promise<PatroniCluster> {
  const folder = await mkdtemp(path.join(tmpdir(), 'millrace-patroni-'));
  const own = await postgresOwner();
  own(folder);
  const etcds: TestProcess[] = [];
  const nodes: PatroniNode[] = [];
  const dispose = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.kill()));
    await Promise.all(etcds.map((etcd) => etcd.crash()));
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  };
  try {
    const authority = await makeAuthority();
    const caFile = path.join(folder, 'ca.pem');
    await writeFile(caFile, authority.certificate);
    const etcdUrls = await startEtcds(folder, etcds);
    for (let nth = 1; nth <= NODE_COUNT; nth += 1) {
      nodes.push(await configureNode({ name: `db${nth}`, folder, own, authority, caFile, etcdUrls }));
    }
    await Promise.all(nodes.map((node) => node.start()));
    const cluster = new RunningCluster(folder, { ca: authority.certificate }, nodes, dispose);
    await cluster.whenHealthy();
    return cluster;
  } catch (error) {
    const output = nodes.map((node) => node.log().slice(-2_000)).join('\n');
    await dispose();
    throw new Error(`The Patroni cluster did not start: ${output}`, { cause: error });
  }
}

/** Members need each other's addresses, and answer once two of them run. */
async function startEtcds(folder: string, started: TestProcess[]): Promise<readonly string[]> {
  const ports = await freePorts(2 * NODE_COUNT);
  const members = Array.from({ length: NODE_COUNT }, (_, nth) => ({
    name: `etcd${nth + 1}`,
    client: `http://127.0.0.1:${ports[2 * nth]}`,
    peer: `http://127.0.0.1:${ports[2 * nth + 1]}`,
  }));
  const initial = members.map(({ name, peer }) => `${name}=${peer}`).join(',');
  await Promise.all(
    members.map(async ({ name, client, peer }) => {
      const args = [
        ...['--name', name, '--data-dir', path.join(folder, name), '--initial-cluster', initial],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
        ...['--listen-client-urls', client, '--advertise-client-urls', client],
        // Longer than by default, because tests share their machine and disk.
        ...['--heartbeat-interval', '200', '--election-timeout', '2000'],
      ];
      const env = { PATH: process.env['PATH'] ?? '' };
      started.push(
        await startCommand({ name, file: 'etcd', args, env, folder, readyUrl: `${client}/health` }),
      );
    }),
  );
  return members.map(({ client }) => client.replace('http://', ''));
}

interface NodeOptions {
  readonly name: string;
  readonly folder: string;
  readonly own: (file: string) => void;
  readonly authority: Authority;
  readonly caFile: string;
  readonly etcdUrls: readonly string[];
}

async function configureNode(options: NodeOptions): Promise<PatroniNode> {
  const { name, own, authority } = options;
  const folder = path.join(options.folder, name);
  const configFolder = path.join(folder, 'config');
  const [port = 0, restPort = 0] = await freePorts(2);
  for (const each of [folder, configFolder]) {
    await mkdir(each, { mode: 0o700 });
    own(each);
  }
  const file = async (place: string, text: string): Promise<void> => {
    await writeFile(path.join(folder, place), text, { mode: 0o600 });
    own(path.join(folder, place));
  };
  const { certificate, key } = await authority.issue({ name });
  await file('server.pem', certificate);
  await file('server.key', key);
  await file('patroni.log', '');
  await copyFile(clusterFile, path.join(configFolder, 'cluster.yml'));
  await file('config/node.json.yml', JSON.stringify(nodeSettings({ ...options, folder, port, restPort })));
  own(path.join(configFolder, 'cluster.yml'));
  return new PatroniNode({ name, port, restPort, folder, configFolder });
}

/** The settings of one machine, as in deploy/patroni/README.md. JSON is YAML. */
function nodeSettings(
  options: Pick<NodeOptions, 'name' | 'folder' | 'caFile' | 'etcdUrls'> & {
    readonly port: number;
    readonly restPort: number;
  },
): object {
  const { name, folder, caFile, etcdUrls, port, restPort } = options;
  const verified = { password: 'a password of servers', sslmode: 'verify-full', sslrootcert: caFile };
  const [listen, rest] = [`127.0.0.1:${port}`, `127.0.0.1:${restPort}`];
  return {
    scope: SCOPE,
    name,
    restapi: { listen: rest, connect_address: rest },
    etcd3: { hosts: etcdUrls },
    postgresql: {
      listen,
      connect_address: listen,
      data_dir: path.join(folder, 'data'),
      bin_dir: path.dirname(postgresProgram('postgres')),
      pgpass: path.join(folder, 'pgpass'),
      use_unix_socket: true,
      use_unix_socket_repl: true,
      authentication: {
        superuser: { username: 'postgres' },
        replication: { username: 'millrace_replicator', ...verified },
        rewind: { username: 'millrace_rewind', ...verified },
      },
      parameters: {
        unix_socket_directories: folder,
        ssl_cert_file: path.join(folder, 'server.pem'),
        ssl_key_file: path.join(folder, 'server.key'),
        shared_buffers: '32MB',
      },
    },
    // Tests freeze Patroni, which a watchdog of the machine would answer with a restart.
    watchdog: { mode: 'off' },
  };
}

class RunningCluster implements PatroniCluster {
  readonly nodes: readonly PatroniNode[];
  readonly tls: { readonly ca: string };
  readonly #folder: string;
  readonly #dispose: () => Promise<void>;

  constructor(
    folder: string,
    tls: { readonly ca: string },
    nodes: readonly PatroniNode[],
    dispose: () => Promise<void>,
  ) {
    this.#folder = folder;
    this.tls = tls;
    this.nodes = nodes;
    this.#dispose = dispose;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#dispose();
  }

  url(login: { readonly user: string; readonly password: string }, database: string): string {
    const hosts = this.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const secret = encodeURIComponent(login.password);
    return `postgres://${login.user}:${secret}@${hosts}/${database}?sslmode=verify-full&sslrootcert=${path.join(this.#folder, 'ca.pem')}`;
  }

  async primary(): Promise<PatroniNode> {
    const answers = await Promise.all(
      this.nodes.map(async (node) => ((await statusOf(`${node.restUrl}/primary`)) === 200 ? node : null)),
    );
    const found = answers.find((node) => node !== null);
    if (found === undefined) throw new Error('No node is the primary.');
    return found;
  }

  async members(): Promise<readonly PatroniMember[]> {
    for (const { restUrl } of this.nodes) {
      const response = await call(`${restUrl}/cluster`).catch(() => null);
      if (response?.ok !== true) continue;
      return ((await response.json()) as { members: readonly PatroniMember[] }).members;
    }
    throw new Error('No node of Patroni answers.');
  }

  async whenHealthy(): Promise<void> {
    await eventually(
      { what: 'a healthy Patroni cluster', timeoutMs: READY_MS, intervalMs: 200 },
      async () => {
        await this.primary();
        const members = await this.members();
        const count = (role: PatroniMember['role']): number =>
          members.filter((member) => member.role === role).length;
        const timelines = new Set(members.map(({ timeline }) => timeline));
        const isRunning = members.every(({ state }) => state === 'running' || state === 'streaming');
        return (
          isRunning && timelines.size === 1 && members.length === NODE_COUNT && count('sync_standby') === 1
        );
      },
    );
    await eventually({ what: 'a synchronous standby', timeoutMs: READY_MS, intervalMs: 100 }, async () => {
      const count = "select count(*) from pg_stat_replication where sync_state = 'sync'";
      return (await this.sql(count)) === '1';
    });
  }

  async switchover(): Promise<void> {
    const members = await this.members();
    const named = (role: PatroniMember['role']): string | undefined =>
      members.find((member) => member.role === role)?.name;
    const [leader, candidate] = [named('leader'), named('sync_standby')];
    const { restUrl } = await this.primary();
    const body = JSON.stringify({ leader, candidate });
    const response = await call(`${restUrl}/switchover`, { method: 'POST', body }, 60_000);
    if (response.status !== 200) {
      throw new Error(`The switchover was refused with ${response.status}: ${await response.text()}`);
    }
  }

  async sql(text: string, database = 'postgres'): Promise<string> {
    const { name, port } = await this.primary();
    const place = ['-h', path.join(this.#folder, name), '-p', String(port), '-U', 'postgres', '-d', database];
    const { file, args } = postgresCommand('psql', ['-XqAt', '-v', 'ON_ERROR_STOP=1', ...place, '-c', text]);
    const { stdout } = await run(file, [...args], { cwd: '/' });
    return stdout.trim();
  }

  output(): string {
    return this.nodes.map((node) => `--- ${node.name}\n${node.log().slice(-6_000)}`).join('\n');
  }
}

function call(url: string, init: RequestInit = {}, timeoutMs = 3_000): Promise<Response> {
  return fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs) });
}

async function statusOf(url: string): Promise<number | null> {
  const response = await call(url).catch(() => null);
  await response?.body?.cancel();
  return response?.status ?? null;
}
