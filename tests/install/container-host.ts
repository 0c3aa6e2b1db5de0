import { containerSettings } from '@millrace/release';
import { execFile, spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const MAX_OUTPUT_BYTES = 67_108_864;
const POLL_MS = 100;

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A place for containers: a network with only loopback, and mounts, images and containers of its own. */
export interface ContainerHost {
  readonly folder: string;
  /** Runs a program in the network and the mounts of the host. */
  readonly run: (program: string, ...words: readonly string[]) => Promise<Ran>;
  /** The same, and throws if it fails. Returns what it printed. */
  readonly must: (program: string, ...words: readonly string[]) => Promise<string>;
  /** Starts a program there, with pipes for input and output. */
  readonly start: (
    program: string,
    ...words: readonly string[]
  ) => ChildProcessByStdio<Writable, Readable, null>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A process holds the namespaces. crun refuses the hybrid cgroups of some machines, so only there is the mount removed. */
const holdNamespaces =
  'ip link set lo up && { umount /sys/fs/cgroup/unified 2>/dev/null || true; } && touch "$1" && exec sleep infinity';

export async function openContainerHost(): Promise<ContainerHost> {
  const folder = await mkdtemp(path.join(tmpdir(), 'millrace-containers-'));
  const ready = path.join(folder, 'ready');
  const flags = ['--mount', '--net', '--propagation', 'private', 'sh', '-c', holdNamespaces, 'hold', ready];
  const holder = spawn('unshare', flags, { stdio: 'ignore' });
  while (!existsSync(ready)) {
    if (holder.exitCode !== null) throw new Error('The namespaces of the containers were not made.');
    await sleep(POLL_MS);
  }
  const env = { ...process.env, ...containerSettings(folder) };
  const enter = ['--target', String(holder.pid), '--mount', '--net', '--wdns=/'];
  const runInside: ContainerHost['run'] = (program, ...words) =>
    run('nsenter', [...enter, program, ...words], { env, maxBuffer: MAX_OUTPUT_BYTES }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: Ran) => ({ code, stdout, stderr }),
    );
  const must: ContainerHost['must'] = async (program, ...words) => {
    const { code, stdout, stderr } = await runInside(program, ...words);
    if (code === 0) return stdout.trim();
    throw new Error(`${program} ${words.join(' ')} exited with ${String(code)}:\n${stdout}\n${stderr}`);
  };
  return {
    folder,
    run: runInside,
    must,
    start: (program, ...words) =>
      spawn('nsenter', [...enter, program, ...words], { env, stdio: ['pipe', 'pipe', 'inherit'] }),
    async [Symbol.asyncDispose]() {
      await runInside('podman', 'rm', '--force', '--all', '--time', '5');
      holder.kill('SIGKILL');
      await once(holder, 'exit');
      // A process of podman that cleans up after a container may still write.
      await rm(folder, { recursive: true, force: true, maxRetries: 20 });
    },
  };
}

/** Makes an image from a tar file of a root, with `config` of buildah. */
export async function importRoot(
  { must }: ContainerHost,
  image: string,
  root: string,
  config: readonly string[],
): Promise<void> {
  const container = await must('buildah', 'from', 'scratch');
  await must('buildah', 'add', '--quiet', container, root, '/');
  await must('buildah', 'config', ...config, container);
  await must('buildah', 'commit', '--quiet', '--rm', container, image);
}
