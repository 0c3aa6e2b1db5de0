import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '@millrace/platform/clock';
import { createLogger } from '@millrace/platform/log';
import { connectValkey, type ValkeyClient } from '@millrace/platform/valkey';
import { freePort } from '../network/ports.ts';

/** A Valkey for one test, for operations that the shared one must not suffer: kill, restart, restore, promote. */
export interface TestValkey {
  readonly url: string;
  readonly port: number;
  /** A connection that is closed with this handle. */
  readonly client: ValkeyClient;
  /** Kills the process and starts a new one on the same port, which loads the saved data. */
  restart(): Promise<void>;
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

/** Without persistence unless a test calls `SAVE`. */
export async function startValkeyServer(): Promise<TestValkey> {
  const folder = await mkdtemp(path.join(tmpdir(), 'millrace-valkey-'));
  const port = await freePort();
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
  // A replica need not wait for further replicas.
  settings.push('--repl-diskless-sync-delay', '0');
  const start = (): ChildProcess => spawn('valkey-server', settings, { stdio: 'ignore' });
  let child = start();
  const url = `redis://127.0.0.1:${port}`;
  const log = createLogger({ name: 'test', level: 'silent' });
  const client = await connectValkey({ url, name: 'test', log, commandTimeoutMs });
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
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await kill(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
