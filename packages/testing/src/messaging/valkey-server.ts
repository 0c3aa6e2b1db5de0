import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '@millrace/platform/clock';
import { createLogger } from '@millrace/platform/log';
import { connectValkey, type ValkeyClient } from '@millrace/platform/valkey';
import { freePort } from '../network/ports.ts';

export interface SecureValkeyOptions {
  /** PEM texts. */
  readonly tls: { readonly certificate: string; readonly key: string };
  /** PEM of the authority that issued the certificate. */
  readonly ca: string;
  /** The lines of the ACL file. */
  readonly users: string;
  /** `user:password` of one of them, who may do everything. */
  readonly login: string;
}

/** A Valkey for one test, for operations that must not be done to the shared one: kill, restart, restore, promote. */
export interface TestValkey {
  readonly url: string;
  readonly port: number;
  /** A connection that is closed with this handle. */
  readonly client: ValkeyClient;
  /** Kills the process and starts a new one on the same port, which loads the saved data. */
  restart(): Promise<void>;
  /** Replaces the certificate and the users of a secure server while it runs, as an operator does. */
  replace(changes: Partial<Pick<SecureValkeyOptions, 'tls' | 'users'>>): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const readyMs = 60_000;
/** Longer than in production, because a busy machine is not a failure of Valkey. */
const commandTimeoutMs = 10_000;

async function waitReady(client: ValkeyClient): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + readyMs;
  for (;;) {
    try {
      return await client.ping();
    } catch (error) {
      if (systemClock.monotonicMs() > deadlineMs) throw error;
      await systemClock.sleep(10);
    }
  }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** Without persistence unless a test calls `SAVE`. With `secure`, it accepts only TLS and the users. */
export async function startValkeyServer(secure?: SecureValkeyOptions): Promise<TestValkey> {
  const folder = await mkdtemp(path.join(tmpdir(), 'millrace-valkey-'));
  const port = await freePort();
  const files = {
    certificate: path.join(folder, 'server.pem'),
    key: path.join(folder, 'server.key'),
    users: path.join(folder, 'users.acl'),
  };
  const write = async ({ tls, users }: Partial<SecureValkeyOptions>): Promise<void> => {
    if (tls !== undefined) await writeFile(files.certificate, tls.certificate);
    if (tls !== undefined) await writeFile(files.key, tls.key);
    if (users !== undefined) await writeFile(files.users, users);
  };
  await write(secure ?? {});
  const listen = secure === undefined ? ['--port', String(port)] : secureSettings(port, files);
  const settings = [...listen, '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
  // A replica need not wait for further replicas.
  settings.push('--repl-diskless-sync-delay', '0');
  const start = (): ChildProcess => spawn('valkey-server', settings, { stdio: 'ignore' });
  let child = start();
  const url =
    secure === undefined ? `redis://127.0.0.1:${port}` : `rediss://${secure.login}@127.0.0.1:${port}`;
  const log = createLogger({ name: 'test', level: 'silent' });
  const client = await connectValkey({ url, ca: secure?.ca ?? null, name: 'test', log, commandTimeoutMs });
  await waitReady(client);
  return {
    url,
    port,
    client,
    restart: async () => {
      await kill(child);
      child = start();
      await waitReady(client);
    },
    replace: async (changes) => {
      await write(changes);
      const { certificate, key } = files;
      if (changes.users !== undefined) await client.command(['ACL', 'LOAD']);
      if (changes.tls !== undefined)
        await client.command(['CONFIG', 'SET', 'tls-cert-file', certificate, 'tls-key-file', key]);
    },
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await kill(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function secureSettings(
  port: number,
  files: { readonly certificate: string; readonly key: string; readonly users: string },
): readonly string[] {
  const tls = ['--tls-cert-file', files.certificate, '--tls-key-file', files.key, '--tls-auth-clients', 'no'];
  return ['--port', '0', '--tls-port', String(port), ...tls, '--aclfile', files.users];
}
