import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { natsCommand } from '@millrace/services';
import { freePorts } from '../network/ports.ts';
import { eventually } from '../time/eventually.ts';

export interface NatsServerOptions {
  /** PEM texts. Without it the server offers no TLS. */
  readonly tls?: { readonly certificate: string; readonly key: string };
  /** Lines of the configuration, for example an `authorization` block. */
  readonly config?: string;
}

/** A nats-server with JetStream for one test, for operations that must not be done to the shared one. */
export interface TestNatsServer {
  /** `127.0.0.1:PORT`. */
  readonly host: string;
  /** Replaces the configuration while the server runs, as SIGHUP does in production. */
  reload(options: NatsServerOptions): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startNatsServer(options: NatsServerOptions = {}): Promise<TestNatsServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'millrace-nats-'));
  const [port = 0, monitorPort = 0] = await freePorts(2);
  const configFile = path.join(folder, 'nats.conf');
  const monitor = `http://127.0.0.1:${monitorPort}`;
  const write = async ({ tls, config = '' }: NatsServerOptions): Promise<void> => {
    const files = { cert_file: path.join(folder, 'server.pem'), key_file: path.join(folder, 'server.key') };
    if (tls !== undefined) {
      await writeFile(files.cert_file, tls.certificate);
      await writeFile(files.key_file, tls.key, { mode: 0o600 });
    }
    const lines = [
      `listen: "127.0.0.1:${port}"`,
      `http: "127.0.0.1:${monitorPort}"`,
      `jetstream { store_dir: ${JSON.stringify(folder)}, max_file_store: 1GB, max_memory_store: 64MB }`,
      ...(tls === undefined ? [] : [`tls ${JSON.stringify(files)}`]),
      config,
    ];
    await writeFile(configFile, `${lines.join('\n')}\n`);
  };
  await write(options);
  const { file, args } = natsCommand(configFile);
  const server = spawn(file, [...args], { stdio: 'ignore' });
  await eventually({ what: 'a NATS server' }, async () => (await fetch(`${monitor}/healthz`)).ok);
  const loadedAt = async (): Promise<unknown> => {
    const response = await fetch(`${monitor}/varz`);
    return ((await response.json()) as { config_load_time?: unknown }).config_load_time;
  };
  return {
    host: `127.0.0.1:${port}`,
    reload: async (changed) => {
      const before = await loadedAt();
      await write(changed);
      server.kill('SIGHUP');
      await eventually({ what: 'the new configuration' }, async () => (await loadedAt()) !== before);
    },
    [Symbol.asyncDispose]: async () => {
      await kill(server);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
