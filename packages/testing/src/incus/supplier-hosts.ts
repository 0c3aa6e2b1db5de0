import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  down,
  resetIncusHost,
  ensureUp,
  killNode,
  startNode,
  withLock,
  type IncusHostEndpoints,
} from '@millrace/services';
import { isAlive } from '../names.ts';

// Supplier hosts: real standalone Incus daemons, each in its own namespaces, with eight simulated GPUs. They start for
// the first test file that needs them, are reused by later files, and stop at the end of the run. A file has its hosts
// exclusively, because joining a marketplace uses the whole host.

const repositoryRoot = fileURLToPath(new URL('../../../../', import.meta.url));

/** Short, because Incus creates sockets with long names below it, and the same for every run of this checkout. */
const folder = path.join(
  tmpdir(),
  `mr-sup-${createHash('sha256').update(repositoryRoot).digest('hex').slice(0, 8)}`,
);
const claimsDir = path.join(folder, 'claims');
const nodeName = 'incus-host';

export interface SupplierHost extends IncusHostEndpoints {
  /** Kills the daemon; its instances continue to run. */
  kill(): Promise<void>;
  /** Starts the daemon again. */
  start(): Promise<void>;
  /** Runs `join.sh` as the host's administrator. Rejects with its output if it fails. */
  join(options: JoinOptions): Promise<string>;
}

export interface JoinOptions {
  /** The URL of the marketplace. */
  readonly url: string;
  readonly token: string;
  readonly name: string;
  /** `millrace` by default. */
  readonly project?: string;
  /** A file that replaces /etc/subuid and /etc/subgid for the script. */
  readonly idRangesFile?: string;
}

export interface SupplierHosts extends AsyncDisposable {
  readonly hosts: readonly SupplierHost[];
}

function locked<T>(work: () => Promise<T>): Promise<T> {
  mkdirSync(claimsDir, { recursive: true });
  chmodSync(folder, 0o755);
  return withLock(path.join(folder, 'lock'), () => {}, work);
}

const claimOf = (number: number): string => path.join(claimsDir, String(number));
const stateDirOf = (number: number): string => path.join(folder, `h${number}`);

function isClaimed(number: number): boolean {
  const file = claimOf(number);
  return existsSync(file) && isAlive(Number(readFileSync(file, 'utf8')));
}

/** Starts or reuses `count` hosts in their initial state. Dispose of them at the end of the file. */
export async function startSupplierHosts(count: number): Promise<SupplierHosts> {
  const numbers = await locked(async () => {
    const free: number[] = [];
    for (let number = 1; free.length < count; number += 1) if (!isClaimed(number)) free.push(number);
    for (const number of free) writeFileSync(claimOf(number), String(process.pid));
    return free;
  });
  const release = (): void => {
    for (const number of numbers) rmSync(claimOf(number), { force: true });
  };
  try {
    const hosts = await Promise.all(numbers.map(startHost));
    return {
      hosts,
      async [Symbol.asyncDispose]() {
        // The next user resets a host that a test killed.
        await Promise.allSettled(hosts.map(resetIncusHost));
        release();
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

async function startHost(number: number): Promise<SupplierHost> {
  const stateDir = stateDirOf(number);
  const { incusHost } = await ensureUp(['incus-host'], {
    stateDir,
    portBase: 'auto',
    databaseInMemory: true,
  });
  if (incusHost === undefined) throw new Error('The host is up, but has no endpoints.');
  await resetIncusHost(incusHost);
  return {
    ...incusHost,
    kill: () => killNode(nodeName, { stateDir }),
    start: () => startNode(nodeName, { stateDir }),
    join: (options) => runJoin(incusHost, path.join(stateDir, 'client'), options),
  };
}

const joinScript = path.join(repositoryRoot, 'deploy/supplier/join.sh');

/** The daemon's socket is a file, so the script can run in any network namespace. */
function runJoin(host: IncusHostEndpoints, clientDir: string, options: JoinOptions): Promise<string> {
  mkdirSync(clientDir, { recursive: true });
  const words = {
    url: options.url,
    address: host.address,
    name: options.name,
    project: options.project ?? 'millrace',
    network: host.network,
    pool: host.storagePool,
    type: 'container',
    image: `${host.sshImageAlias}=local:${host.sshImageAlias}`,
  };
  const args = Object.entries(words).flatMap(([name, value]) => [`--${name}`, value]);
  const env = {
    PATH: process.env['PATH'],
    INCUS_SOCKET: host.socketPath,
    INCUS_CONF: clientDir,
    MILLRACE_JOIN_TOKEN: options.token,
  };
  const [program = 'sh', ...before] = withIdRanges(options.idRangesFile);
  return new Promise((resolve, reject) => {
    execFile(program, [...before, joinScript, ...args], { env, timeout: 60_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`join.sh failed: ${stderr}${stdout}`, { cause: error }));
    });
  });
}

/** A shell, in its own mount namespace if it needs other id ranges. */
function withIdRanges(file: string | undefined): string[] {
  if (file === undefined) return ['sh'];
  const bind = 'for name in subuid subgid; do mount --bind "$0" /etc/$name || exit 1; done; exec sh "$@"';
  return ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', bind, file];
}

/** Stops unclaimed hosts, including those of killed runs. */
export async function stopSupplierHosts(): Promise<void> {
  if (!existsSync(folder)) return;
  await locked(async () => {
    const numbers = readdirSync(folder).flatMap((name) =>
      /^h\d+$/.test(name) ? [Number(name.slice(1))] : [],
    );
    const left = numbers.filter((number) => !isClaimed(number));
    await Promise.all(left.map((number) => down([], { stateDir: stateDirOf(number), purge: true })));
  });
}
