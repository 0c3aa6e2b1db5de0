import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { postgresCommand, postgresOwner, postgresProgram } from '@millrace/services';
import { freePort } from '../network/ports.ts';
import { eventually } from '../time/eventually.ts';

const run = promisify(execFile);

const superuser = { user: 'millrace', password: 'a superuser password' } as const;

export interface PostgresServerOptions {
  /** PEM texts. Without it the server offers no TLS. */
  readonly tls?: { readonly certificate: string; readonly key: string };
  /** Lines of pg_hba.conf. Default: any user with a password, also for replication. */
  readonly hba?: readonly string[];
  /** Settings of the server, such as `synchronous_standby_names = '*'`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Starts as a streaming standby of this server. */
  readonly standbyOf?: Pick<TestPostgres, 'port'>;
}

/** A PostgreSQL for one test, for operations that must not be done to the shared one. */
export interface TestPostgres {
  readonly port: number;
  /** `127.0.0.1:PORT`. */
  readonly host: string;
  /** The URL of the superuser, without parameters. */
  readonly url: string;
  /** Turns a standby into a primary. */
  promote(): Promise<void>;
  /** kill -9 of the server with all of its sessions. */
  crash(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startPostgresServer(options: PostgresServerOptions = {}): Promise<TestPostgres> {
  const folder = await mkdtemp(path.join(tmpdir(), 'millrace-postgres-'));
  const own = await postgresOwner();
  own(folder);
  const port = await freePort();
  const data = path.join(folder, 'data');
  const host = `127.0.0.1:${port}`;
  await (options.standbyOf === undefined ? initialise(folder, own) : copy(options.standbyOf, data));
  const settings = await writeSettings(folder, own, { ...options, port });
  const child = startServer(data, settings);
  const output: string[] = [];
  child.stderr?.on('data', (chunk: Buffer) => void output.push(chunk.toString('utf8')));
  await eventually({ what: 'a PostgreSQL server', timeoutMs: 120_000 }, async () => {
    if (child.exitCode !== null) throw new Error(`PostgreSQL ended: ${output.join('')}`);
    await run(postgresProgram('pg_isready'), ['-h', '127.0.0.1', '-p', String(port)]);
    return true;
  });
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };
  return {
    port,
    host,
    url: `postgres://${superuser.user}:${encodeURIComponent(superuser.password)}@${host}/postgres`,
    promote: () => runAsServer('pg_ctl', ['promote', '-w', '-t', '120', '-D', data]),
    crash: () => stop('SIGKILL'),
    [Symbol.asyncDispose]: async () => {
      await stop('SIGQUIT');
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

function startServer(data: string, settings: readonly string[]): ChildProcess {
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const { file, args: all } = postgresCommand('postgres', args, { endsWithParent: true });
  return spawn(file, [...all], { stdio: ['ignore', 'ignore', 'pipe'], cwd: '/' });
}

async function runAsServer(program: string, args: readonly string[]): Promise<void> {
  const { file, args: all } = postgresCommand(program, args);
  const env = { ...process.env, PGPASSWORD: superuser.password };
  await run(file, [...all], { cwd: '/', env });
}

async function initialise(folder: string, own: (file: string) => void): Promise<void> {
  const passwordFile = path.join(folder, 'password');
  await writeFile(passwordFile, superuser.password, { mode: 0o600 });
  own(passwordFile);
  const auth = ['--auth=scram-sha-256', `--pwfile=${passwordFile}`, '-U', superuser.user];
  const options = ['-D', path.join(folder, 'data'), '--no-locale', '-E', 'UTF8', '--no-sync'];
  await runAsServer('initdb', [...options, ...auth]);
}

async function copy(primary: Pick<TestPostgres, 'port'>, data: string): Promise<void> {
  const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', superuser.user];
  await runAsServer('pg_basebackup', [
    '-D',
    data,
    '-R',
    '-X',
    'stream',
    '--checkpoint=fast',
    '--no-sync',
    ...from,
  ]);
}

const anyUserWithPassword = [
  'host all all 127.0.0.1/32 scram-sha-256',
  'host replication all 127.0.0.1/32 scram-sha-256',
];

async function writeSettings(
  folder: string,
  own: (file: string) => void,
  { tls, hba = anyUserWithPassword, settings = {}, port }: PostgresServerOptions & { readonly port: number },
): Promise<string[]> {
  const file = async (name: string, text: string): Promise<string> => {
    const place = path.join(folder, name);
    await writeFile(place, text);
    await chmod(place, 0o600);
    own(place);
    return place;
  };
  const hbaFile = await file('pg_hba.conf', `${hba.join('\n')}\n`);
  const certificates =
    tls === undefined
      ? []
      : [
          'ssl=on',
          `ssl_cert_file=${await file('server.pem', tls.certificate)}`,
          `ssl_key_file=${await file('server.key', tls.key)}`,
        ];
  return [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'shared_buffers=16MB',
    'max_connections=60',
    `hba_file=${hbaFile}`,
    ...certificates,
    ...Object.entries(settings).map(([name, value]) => `${name}=${value}`),
  ];
}
