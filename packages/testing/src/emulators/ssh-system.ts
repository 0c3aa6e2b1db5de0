import { spawn } from 'node:child_process';
import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import ssh2, { type AuthContext, type Connection, type PublicKeyAuthContext, type ServerChannel } from 'ssh2';
import { gpuCount, type BootDisk, type EmulatedMachine, type WrittenDisk } from './emulated-machine.ts';

/** The state of a disk that persists across boots. */
interface InstalledSystem {
  readonly home: string;
  readonly bin: string;
  readonly hostKey: string;
}

export interface SshSystems extends AsyncDisposable {
  readonly boot: BootDisk;
}

/** The port is free, because each machine has its own address. */
const sshPort = 22;
const users = new Set(['root', 'ubuntu']);

/**
 * Systems whose only service is SSH at the machine's address. They accept the keys of the config drive, or of the
 * `authorized_keys` that replaced them, and run commands in a shell of this host with a separate home folder, where
 * `nvidia-smi` shows eight emulated GPUs. So logins are real; user data is not run.
 */
export function sshSystems(): SshSystems {
  const installed = new Map<WrittenDisk, Promise<InstalledSystem>>();
  return {
    boot: async (machine, disk) => {
      const known = installed.get(disk) ?? install(machine, disk);
      installed.set(disk, known);
      return serve(machine, await known);
    },
    [Symbol.asyncDispose]: async () => {
      const all = await Promise.all(installed.values());
      await Promise.all(all.map(({ home }) => rm(path.dirname(home), { recursive: true, force: true })));
    },
  };
}

/** The work of the first boot with the config drive. */
async function install({ uuid }: EmulatedMachine, { config }: WrittenDisk): Promise<InstalledSystem> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mr-machine-'));
  const [home, bin] = [path.join(folder, 'home'), path.join(folder, 'bin')];
  await mkdir(path.join(home, '.ssh'), { recursive: true });
  await mkdir(bin);
  await writeFile(keysFile(home), config.sshKeys.map((line) => `${line}\n`).join(''));
  const gpus = Array.from(
    { length: gpuCount },
    (_, nth) => `GPU ${nth}: Emulated H100 80GB (UUID: GPU-${nth}${uuid.slice(1)})\n`,
  );
  await program(path.join(bin, 'nvidia-smi'), `cat <<'GPUS'\n${gpus.join('')}GPUS\n`);
  await program(path.join(bin, 'hostname'), `echo '${config.hostname ?? 'localhost'}'\n`);
  return { home, bin, hostKey: config.hostKey ?? newHostKey() };
}

async function program(file: string, text: string): Promise<void> {
  await writeFile(file, `#!/bin/sh\n${text}`);
  await chmod(file, 0o755);
}

const keysFile = (home: string): string => path.join(home, '.ssh', 'authorized_keys');

/** One in 256 generated keys begins with a zero, which the library drops and cannot parse. */
function newHostKey(): string {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519', {});
    if (!(ssh2.utils.parseKey(pair.private) instanceof Error)) return pair.private;
  }
}

async function serve({ address }: EmulatedMachine, system: InstalledSystem): Promise<AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
    const ssh = new ssh2.Server({ hostKeys: [system.hostKey], ident: 'emulated' }, (client) => {
      client.on('error', () => socket.destroy());
      client.on('authentication', (context) => {
        authenticate(context, system.home).catch(() => socket.destroy());
      });
      client.on('ready', () => serveSessions(client, system));
    });
    ssh.injectSocket(socket);
  });
  server.listen(sshPort, address);
  await once(server, 'listening');
  return {
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function authenticate(context: AuthContext, home: string): Promise<void> {
  const lines = (await readFile(keysFile(home), 'utf8')).split('\n').filter((line) => line.trim() !== '');
  const isKnown =
    context.method === 'publickey' &&
    users.has(context.username) &&
    lines.some((line) => isSignedBy(line, context));
  if (isKnown) context.accept();
  else context.reject(['publickey']);
}

function isSignedBy(line: string, context: PublicKeyAuthContext): boolean {
  const key = ssh2.utils.parseKey(line);
  if (key instanceof Error || Array.isArray(key)) return false;
  const [known, shown] = [key.getPublicSSH(), context.key.data];
  if (known.length !== shown.length || !timingSafeEqual(known, shown)) return false;
  if (context.signature === undefined || context.blob === undefined) return true;
  return key.verify(context.blob, context.signature, context.hashAlgo) === true;
}

function serveSessions(client: Connection, system: InstalledSystem): void {
  client.on('session', (acceptSession) => {
    acceptSession().on('exec', (accept, _reject, { command }) => {
      // A second request on one channel gets no channel, despite the type.
      const channel: ServerChannel | undefined = accept();
      if (channel !== undefined) runLine(channel, command, system);
    });
  });
}

function runLine(channel: ServerChannel, line: string, { home, bin }: InstalledSystem): void {
  const child = spawn('sh', ['-c', line], { cwd: home, env: { HOME: home, PATH: `${bin}:/usr/bin:/bin` } });
  channel.on('error', () => child.kill('SIGKILL'));
  channel.once('close', () => child.kill('SIGKILL'));
  child.once('error', () => channel.close());
  // A program that does not read its input closes it.
  child.stdin.on('error', () => undefined);
  channel.pipe(child.stdin);
  child.stdout.pipe(channel, { end: false });
  child.stderr.pipe(channel.stderr, { end: false });
  child.once('close', (code) => {
    channel.exit(code ?? 255);
    channel.end();
  });
}
