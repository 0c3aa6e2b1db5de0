import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { randomInt } from 'node:crypto';
import { promisify } from 'node:util';
import { ensureUp } from '@millrace/services';
import { makeCertificate } from '../network/certificates.ts';
import { eventually } from '../time/eventually.ts';
import { isAlive } from '../names.ts';
import { freePorts } from '../network/ports.ts';
import { startProcess, type TestProcess } from './processes.ts';

// A storage node for one test: a pool on XFS, a real agent, and the real NFS servers that the agent starts. Servers,
// mounts and loop devices outlive the agent by design, so they are removed by a search of the machine below the node's
// folder, however the test ends.

const run = promisify(execFile);
const prefix = 'mr-storage-';

export interface StorageNodeOptions {
  /** The size of the pool; 64 by default. The file is sparse. */
  readonly poolGb?: number;
  /** 60 by default. A client that sends nothing for this long, as on a slow machine, loses its open files. */
  readonly leaseSeconds?: number;
}

export interface StorageNode extends AsyncDisposable {
  readonly folder: string;
  readonly pool: string;
  /** The URL of the agent for workers. */
  readonly endpoint: string;
  readonly healthUrl: string;
  readonly credential: {
    readonly certificateFile: string;
    readonly keyFile: string;
    readonly serverCertificateFile: string;
  };
  /** The agent's own certificate and key, and the client certificates that it accepts. */
  readonly agentFiles: {
    readonly certificateFile: string;
    readonly keyFile: string;
    readonly clientsFile: string;
  };
  /** The configured range: FIRST-LAST. */
  readonly vips: string;
  readonly nfsPort: number;
  vip(index: number): string;
  /** A client address of this machine, from 0 to 7. */
  client(index: number): string;
  agent(): TestProcess;
  /** Starts the agent again after it ended. */
  restart(): Promise<void>;
  /** The process that serves a volume. */
  serverPid(volumeId: string): number | null;
  /** Simulates a power loss: removes servers, mounts and loop devices, and keeps the disk. */
  losePower(): Promise<void>;
}

export async function startStorageNode(options: StorageNodeOptions = {}): Promise<StorageNode> {
  await ensureUp(['nfs']);
  const folder = await mkdtemp(path.join(tmpdir(), `${prefix}${process.pid}-`));
  try {
    return await startIn(folder, options);
  } catch (error) {
    await removeNode(folder);
    throw error;
  }
}

async function startIn(folder: string, options: StorageNodeOptions): Promise<StorageNode> {
  const pool = path.join(folder, 'pool');
  await makePool(folder, pool, options.poolGb ?? 64);
  const network = `127.${randomInt(100, 200)}.${randomInt(256)}`;
  const vips = `${network}.10-${network}.250`;
  const [port = 0, healthPort = 0, nfsPort = 0] = await freePorts(3);
  const server = await makeCertificate('storage node');
  const worker = await makeCertificate('worker');
  const file = (name: string): string => path.join(folder, name);
  const credential = {
    certificateFile: file('worker.crt'),
    keyFile: file('worker.key'),
    serverCertificateFile: file('pinned.crt'),
  };
  const agentFiles = {
    certificateFile: file('node.crt'),
    keyFile: file('node.key'),
    clientsFile: file('clients.crt'),
  };
  await writeFile(credential.certificateFile, worker.certificate);
  await writeFile(credential.keyFile, worker.key);
  await writeFile(credential.serverCertificateFile, server.certificate);
  await writeFile(agentFiles.certificateFile, server.certificate);
  await writeFile(agentFiles.keyFile, server.key);
  await writeFile(agentFiles.clientsFile, worker.certificate);
  const env = {
    MILLRACE_LOG_LEVEL: 'warn',
    MILLRACE_STORAGE_POOL: pool,
    MILLRACE_STORAGE_VIPS: vips,
    MILLRACE_STORAGE_PORT: String(port),
    MILLRACE_STORAGE_HEALTH_PORT: String(healthPort),
    MILLRACE_STORAGE_NFS_PORT: String(nfsPort),
    MILLRACE_STORAGE_LEASE_SECONDS: String(options.leaseSeconds ?? 60),
    MILLRACE_STORAGE_TLS_CERT_FILE: agentFiles.certificateFile,
    MILLRACE_STORAGE_TLS_KEY_FILE: agentFiles.keyFile,
    MILLRACE_STORAGE_CLIENT_CERTS_FILE: agentFiles.clientsFile,
  };
  const launch = (): Promise<TestProcess> =>
    startProcess({
      name: 'storage agent',
      entry: 'apps/storage/src/main.ts',
      env,
      readyUrl: `http://127.0.0.1:${healthPort}/readyz`,
    });
  let agent = await launch();
  return {
    ...{ folder, pool, credential, agentFiles, vips, nfsPort },
    endpoint: `https://127.0.0.1:${port}`,
    healthUrl: `http://127.0.0.1:${healthPort}`,
    vip: (index) => `${network}.${10 + index}`,
    client: (index) => `${network}.${1 + index}`,
    agent: () => agent,
    restart: async () => {
      agent = await launch();
    },
    serverPid: (volumeId) => serversBelow(path.join(pool, 'volumes', volumeId))[0] ?? null,
    losePower: async () => {
      await agent.crash();
      await removeMountsAndServers(path.join(pool, 'volumes'));
    },
    [Symbol.asyncDispose]: async () => {
      await agent.crash();
      await removeNode(folder);
    },
  };
}

async function makePool(folder: string, pool: string, sizeGb: number): Promise<void> {
  const image = path.join(folder, 'pool.img');
  const handle = await open(image, 'wx');
  await handle.truncate(sizeGb * 1_073_741_824);
  await handle.close();
  await run('mkfs.xfs', ['-q', '-K', '-m', 'reflink=1', '-l', 'size=64m', image]);
  await mkdir(pool);
  await run('mount', ['-o', 'loop', image, pool]);
}

/** Removes the nodes of dead runs; with `own` also those of this process. */
export async function clearStorageNodes(options: { readonly own: boolean }): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    const pid = Number(new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(pid)) continue;
    if (!isAlive(pid) || (options.own && pid === process.pid)) await removeNode(path.join(tmpdir(), name));
  }
}

async function removeNode(folder: string): Promise<void> {
  await removeMountsAndServers(folder);
  await rm(folder, { recursive: true, force: true });
}

/** Ends every server, mount and loop device below a folder, from the inside out. */
async function removeMountsAndServers(folder: string): Promise<void> {
  let round = 0;
  await eventually({ what: `nothing to be left of ${folder}`, timeoutMs: 30_000 }, async () => {
    round += 1;
    // Another test's host may have inherited the mount in its namespace; a lazy unmount then ends with that host.
    const umountOptions = round > 20 ? ['--lazy'] : [];
    for (const pid of serversBelow(folder)) process.kill(pid, 'SIGKILL');
    for (const mount of mountsBelow(folder).toReversed()) {
      await run('fsfreeze', ['--unfreeze', mount]).catch(() => undefined);
      await run('umount', [...umountOptions, mount]).catch(() => undefined);
      for (const device of loopsBelow(folder)) await run('losetup', ['-d', device]).catch(() => undefined);
    }
    for (const device of loopsBelow(folder)) await run('losetup', ['-d', device]).catch(() => undefined);
    return (
      serversBelow(folder).length === 0 &&
      mountsBelow(folder).length === 0 &&
      loopsBelow(folder).every(isLeftToOthers)
    );
  });
}

/**
 * A process in another mount namespace, such as an emulated machine, may have copies of our mounts. The device is
 * marked for removal and disappears with the last copy, so this process need not wait.
 */
function isLeftToOthers(device: string): boolean {
  return textOf(`/sys/block/${path.basename(device)}/loop/autoclear`).trim() === '1';
}

function serversBelow(folder: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const words = textOf(`/proc/${name}/cmdline`).split('\0');
    const isServer = words.some((word) => path.basename(word) === 'ganesha.nfsd');
    return isServer && words.some((word) => word.startsWith(`${folder}/`)) ? [Number(name)] : [];
  });
}

function mountsBelow(folder: string): string[] {
  const points = textOf('/proc/self/mountinfo')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '');
  return points.filter((point) => point.startsWith(`${folder}/`));
}

/** Loop devices not marked for removal. A marked one disappears with its last user, perhaps another test's host. */
function loopsBelow(folder: string): string[] {
  return readdirSync('/sys/block').flatMap((name) => {
    const about = `/sys/block/${name}/loop`;
    if (!existsSync(about) || textOf(`${about}/autoclear`).trim() !== '0') return [];
    return textOf(`${about}/backing_file`).startsWith(`${folder}/`) ? [`/dev/${name}`] : [];
  });
}

/** A file may disappear before it is read. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
