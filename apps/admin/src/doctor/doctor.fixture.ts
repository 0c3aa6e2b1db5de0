import { appendFileSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { systemClock } from '@millrace/platform/clock';
import { createLogger } from '@millrace/platform/log';
import { connectValkey, type ValkeyClient } from '@millrace/platform/valkey';
import {
  eventually,
  makeAuthority,
  freePorts,
  startInstalledEngine,
  startPostgresServer,
  startProcess,
  urlOfDatabase,
  type Authority,
  type InstalledEngineName,
  type TestPostgres,
  type TestProcess,
} from '@millrace/testing';
import { Client } from 'pg';
import { runAdmin } from '../app.ts';
import { createInitCommand } from '../init/init-command.ts';
import { createFolders, groupOfPostgres } from '../init/init.fixture.ts';
import { defaultPorts, type Ports } from '../init/layout.ts';
import type { Effects } from './check.ts';
import { findProblems } from './doctor.command.ts';
import type { Finding } from './finding.ts';
import { processes } from './installation.ts';
import type { ProcessRole } from '../init/layout.ts';
import { systemEffects } from './system-effects.ts';

/** An installation on one machine that `millrace-admin init` has prepared, with all of its servers and processes. */
export class TestInstallation implements AsyncDisposable {
  readonly folder: string;
  readonly ports: Ports;
  readonly postgres: TestPostgres;
  readonly engines = new Map<InstalledEngineName, TestProcess>();
  readonly processes = new Map<ProcessRole, TestProcess>();
  /** Authorities that all servers accept, and that none accepts. */
  readonly authority: Authority;
  readonly otherAuthority: Authority;
  readonly #closers: (() => unknown)[] = [];
  #stateFolder = '';
  #sql: Client | null = null;
  #valkey: ValkeyClient | null = null;

  private constructor(
    folder: string,
    ports: Ports,
    postgres: TestPostgres,
    authorities: readonly [Authority, Authority],
  ) {
    [this.authority, this.otherAuthority] = authorities;
    this.folder = folder;
    this.ports = ports;
    this.postgres = postgres;
  }

  static async open(): Promise<TestInstallation> {
    const closers: (() => unknown)[] = [];
    const { folder, stateFolder } = createFolders((remove) => void closers.push(remove));
    const postgres = await startPostgresServer();
    const names = Object.keys(defaultPorts).filter((name) => name !== 'postgres');
    const free = await freePorts(names.length + 2);
    const [publicPort = 0, plainPort = 0] = free.slice(names.length);
    const chosen = Object.fromEntries(names.map((name, index) => [name, free[index]]));
    const ports = { ...defaultPorts, ...chosen, postgres: postgres.port };
    const installation = new TestInstallation(folder, ports, postgres, [
      await makeAuthority(),
      await makeAuthority(),
    ]);
    installation.#closers.push(...closers);
    installation.#stateFolder = stateFolder;
    const person = ['--email', 'ada@example.com', '--name', 'Ada', '--organisation', 'Example'];
    await installation.init(['--public-url', `https://localhost:${publicPort}`, ...person]);
    installation.#addTestSettings(plainPort);
    await installation.#start();
    return installation;
  }

  /** The only backup. */
  get backup(): string {
    return join(this.folder, '../backups/millrace-now.dump');
  }

  path(...names: string[]): string {
    return join(this.folder, ...names);
  }

  read(...names: string[]): string {
    return readFileSync(this.path(...names), 'utf8');
  }

  /** Keeps the time of the file, because NATS compares it with that of its start. */
  write(name: string, text: string): void {
    const { atime, mtime } = statSync(this.path(name));
    writeFileSync(this.path(name), text);
    utimesSync(this.path(name), atime, mtime);
  }

  /** One statement as the administrator. */
  async sql(text: string): Promise<readonly Record<string, unknown>[]> {
    this.#sql ??= await this.#connect();
    const { rows } = await this.#sql.query<Record<string, unknown>>(text);
    return rows;
  }

  /** The process of PostgreSQL that accepts connections. */
  async postmaster(): Promise<number> {
    const [row] = await this.sql("select pg_read_file('postmaster.pid') as text");
    return Number(String(row?.['text']).split('\n')[0]);
  }

  /** Opens connections until this many are open. */
  async useConnections(wanted: number): Promise<() => Promise<void>> {
    const [row] = await this.sql(
      "select count(*)::int as open from pg_stat_activity where backend_type = 'client backend'",
    );
    const clients = Array.from(
      { length: wanted - Number(row?.['open']) },
      () => new Client(this.postgres.url),
    );
    for (const client of clients) await client.connect();
    return async () => {
      for (const client of clients) await client.end();
    };
  }

  /** A command as the user `all`. */
  async valkey(...words: string[]): Promise<unknown> {
    const url = this.read('admin/valkey.url').trim();
    this.#valkey ??= await connectValkey({
      ...{ url, ca: this.read('ca.pem'), name: 'test', log: silent, commandTimeoutMs: 60_000 },
    });
    return this.#valkey.command(words);
  }

  /** Findings with this machine replaced where tests on it would depend on it. */
  doctor(effects: Partial<Effects> = {}): Promise<readonly Finding[]> {
    return findProblems(this.folder, { ...testEffects, ...effects });
  }

  async restartEngine(name: InstalledEngineName): Promise<void> {
    await this.engines.get(name)?.crash();
    await this.startEngine(name);
  }

  async startEngine(name: InstalledEngineName): Promise<void> {
    const { natsMonitor, restateAdmin } = this.ports;
    const readyUrls: Partial<Record<InstalledEngineName, string>> = {
      nats: `http://127.0.0.1:${natsMonitor}/healthz`,
      restate: `http://127.0.0.1:${restateAdmin}/health`,
    };
    const readyUrl = readyUrls[name];
    const env = name === 'proxy' ? this.#settings('proxy.env') : {};
    const started = await startInstalledEngine(name, this.folder, {
      env,
      ...(readyUrl === undefined ? {} : { readyUrl }),
    });
    this.engines.set(name, started);
  }

  async restartProcess(role: ProcessRole): Promise<void> {
    await this.processes.get(role)?.crash();
    await this.startProcess(role);
  }

  async startProcess(role: ProcessRole): Promise<void> {
    const started = await startProcess({
      name: role,
      entry: `apps/${role}/src/main.ts`,
      env: {
        ...this.#settings('millrace.env'),
        ...this.#settings(`${role}.env`),
        MILLRACE_LOG_LEVEL: 'warn',
      },
    });
    this.processes.set(role, started);
  }

  /** The checks that a process itself reports as failed. */
  async failingChecks(role: ProcessRole, healthPort: number): Promise<readonly string[]> {
    const headers = { authorization: `Bearer ${this.read(role, 'health.token').trim()}` };
    const response = await fetch(`http://127.0.0.1:${healthPort}/readyz`, { headers });
    const { checks } = (await response.json()) as { checks: Readonly<Record<string, { ok: boolean }>> };
    return Object.entries(checks).flatMap(([name, { ok }]) => (ok ? [] : [name]));
  }

  async untilHealthy(): Promise<void> {
    let last: readonly Finding[] = [];
    try {
      await eventually({ what: 'no findings', intervalMs: 250 }, async () => {
        last = await this.doctor();
        return last.length === 0;
      });
    } catch (error) {
      throw new Error(`Still found: ${JSON.stringify(last, null, 2)}`, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#valkey?.close();
    await this.#sql?.end();
    await Promise.all([...this.processes.values(), ...this.engines.values()].map((each) => each.crash()));
    await this.postgres[Symbol.asyncDispose]();
    for (const close of this.#closers) await close();
  }

  async #connect(): Promise<Client> {
    const client = new Client({ connectionString: urlOfDatabase(this.postgres.url, 'millrace') });
    // A test stops the server.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  #settings(file: string): Record<string, string> {
    const entries = Object.entries(parseEnv(this.read(file)));
    return Object.fromEntries(entries.map(([name, value]) => [name, value ?? '']));
  }

  /** Runs `millrace-admin init` and returns its output. */
  async init(words: readonly string[] = []): Promise<string> {
    const { ports, folder } = this;
    const { io, read } = collectOutput();
    const stateFolder = this.#stateFolder;
    const command = createInitCommand({ ports, stateFolder, groupId: groupOfPostgres, clock: systemClock });
    const env = { MILLRACE_POSTGRES_ADMIN_URL: this.postgres.url };
    const code = await runAdmin(['init', '--folder', folder, ...words], io, env, [command]);
    if (code !== 0) throw new Error(`init failed with ${code}: ${read()}`);
    return read();
  }

  /** Another authority, a backup, and short waits. */
  #addTestSettings(plainPort: number): void {
    appendFileSync(this.path('ca.pem'), this.authority.certificate);
    mkdirSync(dirname(this.backup));
    writeFileSync(this.backup, 'PGDMP');
    const admin = this.read('admin.env').replace(
      /^MILLRACE_BACKUP_FOLDER=.*$/m,
      `MILLRACE_BACKUP_FOLDER=${dirname(this.backup)}`,
    );
    writeFileSync(this.path('admin.env'), admin);
    // A fixed commit, because someone may commit to the repository during the test.
    appendFileSync(this.path('millrace.env'), 'MILLRACE_COMMIT=1234567\n');
    appendFileSync(this.path('worker.env'), 'MILLRACE_RESTATE_REGISTER_MS=1000\n');
    const proxy = this.read('proxy.env').replace(/^HTTP_BIND=.*$/m, `HTTP_BIND=127.0.0.1:${plainPort}`);
    writeFileSync(this.path('proxy.env'), proxy);
  }

  async #start(): Promise<void> {
    await Promise.all(
      (['nats', 'valkey', 'restate', 'proxy'] as const).map((name) => this.startEngine(name)),
    );
    for (const role of ['worker', ...processes.filter((each) => each !== 'worker')] as const) {
      await this.startProcess(role);
    }
  }
}

function collectOutput() {
  let text = '';
  const add = (more: string): void => void (text += more);
  return { io: { out: add, err: add }, read: () => text };
}

const silent = createLogger({ name: 'test', level: 'silent' });

const GIBIBYTE = 1_073_741_824;

/** Units as after an installation. */
const unit = 'LoadState=loaded\nActiveState=active\nUnitFileState=enabled\nLimitNOFILE=65536\n';

/** The network and the clock are real. Disks, users and systemd are those of a machine with an installation. */
export const testEffects: Effects = {
  ...systemEffects,
  freeSpace: async () => ({ freeBytes: 100 * GIBIBYTE, totalBytes: 200 * GIBIBYTE, device: 1 }),
  identityOf: async () => ({ uid: process.getuid?.() ?? 0, gids: [process.getgid?.() ?? 0] }),
  hasSystemd: () => true,
  run: async (file) => {
    if (file === 'systemctl') return { code: 0, output: unit };
    return file === 'timedatectl' ? { code: 0, output: 'yes\n' } : { code: 1, output: '' };
  },
};
