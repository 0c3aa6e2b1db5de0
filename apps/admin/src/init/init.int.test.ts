import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:https';
import { basename, join } from 'node:path';
import { parseEnv } from 'node:util';
import { SimulatedClock, systemClock } from '@millrace/platform/clock';
import { systemEnvelope } from '@millrace/platform/envelope';
import { createLogger } from '@millrace/platform/log';
import { connectNats, natsOptionsOf } from '@millrace/platform/nats';
import { connectValkey } from '@millrace/platform/valkey';
import {
  eventually,
  freePorts,
  startInstalledEngine,
  startPostgresServer,
  startProcess,
  urlOfDatabase,
  type TestPostgres,
  type TestProcess,
} from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { exitCodes, runAdmin } from '../app.ts';
import { createBackupCommand } from '../backup.ts';
import type { Command } from '../command.ts';
import { createInitCommand } from './init-command.ts';
import { createFolders, groupOfPostgres, readFiles } from './init.fixture.ts';
import { defaultPorts, type Ports } from './layout.ts';
import { postgresEnvironment } from '../postgres-environment.ts';
import { runProgram } from '../run-program.ts';

/** Prepares an installation on a new PostgreSQL, and uses it as its processes do. */

const log = createLogger({ name: 'test', level: 'silent' });
const { folder, stateFolder } = createFolders(afterAll);
let server: TestPostgres;
const engines: TestProcess[] = [];
let ports: Ports;

const ada = ['--email', 'ada@example.com', '--name', 'Ada', '--organisation', "Ada's Cloud"];
const words = ['--public-url', 'https://cloud.example.com', ...ada, '--json'];

interface Printed {
  readonly written: readonly string[];
  readonly unchanged: readonly string[];
  readonly edited: readonly string[];
  readonly migrations: number;
  readonly operator: { readonly key: string; readonly password: string; readonly slug: string } | null;
}

async function init(flags: readonly string[] = words) {
  const command = createInitCommand({ ports, stateFolder, groupId: groupOfPostgres, clock: systemClock });
  const env = { MILLRACE_POSTGRES_ADMIN_URL: server.url };
  return run(['init', ...flags, '--folder', folder], env, command);
}

async function run(line: readonly string[], env: Record<string, string>, command?: Command) {
  let [out, err] = ['', ''];
  const io = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  const code = await runAdmin(line, io, env, command === undefined ? undefined : [command]);
  return { code, out, err };
}

const text = (file: string): string => readFileSync(join(folder, file), 'utf8').trim();

let first: Printed;
beforeAll(async () => {
  server = await startPostgresServer();
  const names = Object.keys(defaultPorts).filter((name) => name !== 'postgres');
  const free = await freePorts(names.length);
  const chosen = Object.fromEntries(names.map((name, index) => [name, free[index]]));
  ports = { ...defaultPorts, ...chosen, postgres: server.port };
  const { code, out, err } = await init();
  expect({ code, err }).toEqual({ code: exitCodes.ok, err: '' });
  first = JSON.parse(out) as Printed;
  for (const [name, readyUrl] of [
    ['restate', `http://127.0.0.1:${ports.restateAdmin}/health`],
    ['nats', `http://127.0.0.1:${ports.natsMonitor}/healthz`],
    ['valkey', undefined],
  ] as const) {
    engines.push(await startInstalledEngine(name, folder, readyUrl === undefined ? {} : { readyUrl }));
  }
});
afterAll(async () => {
  for (const engine of engines) await engine.crash();
  await server[Symbol.asyncDispose]();
});

/** The settings of a process, as systemd passes them. */
function settingsOf(role: string): Record<string, string> {
  const entries = ['millrace.env', `${role}.env`].flatMap((file) => Object.entries(parseEnv(text(file))));
  return Object.fromEntries(entries.map(([name, value]) => [name, value ?? '']));
}

describe('millrace-admin init', () => {
  it('creates the database and the first operator once, and changes no file the second time', async () => {
    expect(first.migrations).toBeGreaterThan(50);
    expect(first.operator).toMatchObject({ slug: 'ada-s-cloud' });
    const before = readFiles(folder);
    const again = await init();
    expect(again.code).toBe(exitCodes.ok);
    expect(JSON.parse(again.out)).toMatchObject({ written: [], edited: [], migrations: 0, operator: null });
    expect(readFiles(folder)).toEqual(before);
  });

  it('needs no flags the second time, and writes what a new release adds', async () => {
    const before = readFiles(folder);
    rmSync(join(folder, 'restate/restate.toml'));
    const again = await init(['--json']);
    expect(again).toMatchObject({ code: exitCodes.ok, err: '' });
    expect(JSON.parse(again.out)).toMatchObject({
      ...{ written: ['restate/restate.toml'], edited: [], operator: null },
      consoleUrl: 'https://cloud.example.com/console/',
    });
    expect(text('millrace.env')).toBe(before['millrace.env']?.content.trim());
  });

  it('prepares a machine for a restore without creating an operator', async () => {
    const database = urlOfDatabase(server.url, 'millrace');
    await query(database, 'create table aside as table platform_roles; delete from platform_roles');
    onTestFinished(async () => {
      await query(database, 'insert into platform_roles table aside; drop table aside');
    });
    const prepared = await init([]);
    expect(prepared).toMatchObject({ code: exitCodes.ok, err: '' });
    expect(prepared.out).toContain('The installation has no operator. Restore a backup');
    expect(await query(database, 'select count(*) from users')).toBe('1');
  });

  it('refuses to replace lost sealing keys of an existing database', async () => {
    const files = ['api', 'worker'].map((role) => join(folder, role, 'sealing.keys'));
    const stored = files.map((file) => readFileSync(file));
    for (const file of files) rmSync(file);
    const refused = await init();
    expect(refused).toMatchObject({ code: exitCodes.refused, out: '' });
    expect(refused.err).toContain('Restore the folder from your copy');
    expect(files.filter((file) => existsSync(file))).toEqual([]);
    for (const [index, file] of files.entries()) writeFileSync(file, stored[index] ?? '', { mode: 0o640 });
    expect((await init()).code).toBe(exitCodes.ok);
  });

  it('refuses the database of another login, such as that of 0.1.0, before it writes a file', async () => {
    const database = urlOfDatabase(server.url, 'millrace');
    await query(database, 'create role earlier; alter table platform_roles owner to earlier');
    const file = join(folder, 'admin/postgres-owner.url');
    const stored = readFileSync(file);
    rmSync(file);
    onTestFinished(async () => {
      writeFileSync(file, stored, { mode: 0o600 });
      await query(database, 'alter table platform_roles owner to millrace_owner; drop role earlier');
    });
    const refused = await init();
    expect(refused).toMatchObject({ code: exitCodes.refused, out: '' });
    expect(refused.err).toContain('belongs to the login earlier');
    expect(existsSync(file)).toBe(false);
  });

  it('refuses a second run at the same time, and a server on another machine', async () => {
    const codes = (await Promise.all([init(), init()])).map(({ code }) => code);
    expect(codes.toSorted((left, right) => left - right)).toEqual([exitCodes.ok, exitCodes.refused]);
    const command = createInitCommand({ ports, stateFolder, groupId: groupOfPostgres, clock: systemClock });
    const otherMachine = {
      MILLRACE_POSTGRES_ADMIN_URL: 'postgres://postgres:x@192.0.2.1:5432/postgres?sslmode=verify-full',
    };
    const { code, err } = await run(['init', ...words, '--folder', folder], otherMachine, command);
    expect({ code, err }).toMatchObject({ code: exitCodes.refused });
    expect(err).toContain('names another machine');
  });

  it('gives each login of PostgreSQL its own rights, with TLS', async () => {
    const roles = { api: 'millrace_api', worker: 'millrace_worker', admin: 'millrace_admin' };
    for (const [process, own] of Object.entries(roles)) {
      const url = text(`${process}/postgres.url`);
      expect(await query(url, 'select ssl from pg_stat_ssl where pid = pg_backend_pid()')).toBe('t');
      expect(await query(url, `set role ${own}; select max(version) > 50 from schema_migrations`)).toBe('t');
      const others = [...Object.values(roles), 'millrace_owner'].filter((role) => role !== own);
      for (const denied of [...others.map((role) => `set role ${role}`), 'create table x (id int)']) {
        await expect(query(url, denied), denied).rejects.toThrow(/permission denied/);
      }
      await expect(query(url.replace(/:[^:@]+@/, ':other@'), 'select 1')).rejects.toThrow(/password/);
    }
  });

  it('gives the user of the api in Valkey only rate limits', async () => {
    const url = text('api/valkey.url');
    const options = { ca: text('ca.pem'), name: 'test', log, commandTimeoutMs: 60_000 };
    const api = await connectValkey({ ...options, url });
    onTestFinished(() => api.close());
    await api.ping();
    await expect(api.command(['HGETALL', 'pot:1'])).rejects.toThrow(/permission/i);
  });

  it('gives the key of the api in NATS only its subjects', async () => {
    let logged = '';
    const destination = { write: (line: string) => void (logged += line) };
    const settings = { urls: [`tls://127.0.0.1:${ports.nats}`], credentials: text('api/nats.seed') };
    const nats = await connectNats({
      ...natsOptionsOf({ ...settings, ca: text('ca.pem'), prefix: '' }, 'api'),
      ...{ name: 'test', log: createLogger({ name: 'test', level: 'error', destination }) },
    });
    onTestFinished(() => nats.close());
    nats.notify('other.subject', {}, systemEnvelope(0, 'api'));
    await eventually({ what: 'the error of the server' }, () => /NATS does not allow/.test(logged));
  });

  it('gives Restate the key that workers accept', () => {
    expect(text('worker.env')).toContain('MILLRACE_RESTATE_IDENTITY_KEYS=publickeyv1_');
    const [, key = ''] = /IDENTITY_KEYS=(\S+)/.exec(text('worker.env')) ?? [];
    expect(engines[0]?.output()).toContain(key);
  });

  it('lets each process become ready with its files', async () => {
    const worker = await startRole('worker', `http://127.0.0.1:${ports.workerHealth}/readyz`);
    const gateway = await startRole('gateway', `http://127.0.0.1:${ports.gatewayHealth}/readyz`);
    const api = await startRole('api');
    await eventually({ what: 'the api', timeoutMs: 240_000 }, async () => (await statusOfApi()) === 200);
    for (const process of [worker, gateway, api]) expect(process.running(), process.output()).toBe(true);
  });

  it('backs the database up so that it can be restored, and deletes old backups', async () => {
    const backups = join(stateFolder, 'backups');
    mkdirSync(backups, { mode: 0o700 });
    const earlier = Array.from({ length: 15 }, (_, day) => `millrace-2026-07-${day + 10}T000000Z.dump`);
    for (const name of [...earlier, 'notes.txt', 'millrace-2026-07-09T000000Z.dump.partial']) {
      writeFileSync(join(backups, name), '');
    }
    utimesSync(join(backups, 'millrace-2026-07-09T000000Z.dump.partial'), 0, 0);
    const clock = new SimulatedClock(Date.UTC(2026, 7, 4, 12));
    const env = { ...settingsOf('admin'), MILLRACE_BACKUP_FOLDER: backups };
    const { code, out } = await run(['backup', '--json'], env, createBackupCommand(clock));
    expect(code).toBe(exitCodes.ok);
    const newest = join(backups, 'millrace-2026-08-04T120000Z.dump');
    const partial = 'millrace-2026-07-09T000000Z.dump.partial';
    expect(JSON.parse(out)).toEqual({
      ...{ file: newest, bytes: statSync(newest).size },
      deleted: [...earlier.slice(0, 2), partial],
    });
    expect(readdirSync(backups).toSorted()).toEqual([...earlier.slice(2), basename(newest), 'notes.txt']);
    expect(statSync(newest).mode & 0o777).toBe(0o600);

    await query(
      server.url,
      "create database restored owner millrace_owner template template0 encoding 'UTF8' locale 'C'",
    );
    const superuser = postgresEnvironment(server.url, { caFile: null, name: 'test' });
    await runProgram('pg_restore', ['--exit-on-error', '-d', 'restored', newest], { env: superuser });
    const count =
      'select count(*) from users; select count(*) from audit_log; select max(version) from schema_migrations';
    const url = text('admin/postgres-owner.url');
    expect(await query(url.replace('/millrace?', '/restored?'), count)).toBe(await query(url, count));
    const admin = text('admin/postgres.url').replace('/millrace?', '/restored?');
    expect(await query(admin, 'select email from users')).toBe('ada@example.com');
  });

  it('leaves no file if a backup fails', async () => {
    const backups = join(stateFolder, 'failed-backups');
    const { MILLRACE_POSTGRES_OWNER_URL_FILE: _, ...settings } = settingsOf('admin');
    const env = { ...settings, MILLRACE_BACKUP_FOLDER: backups };
    // The login of other commands cannot read every table.
    const failed = await run(['backup'], env);
    expect(failed).toMatchObject({ code: exitCodes.refused, out: '' });
    expect(failed.err).toContain('No backup was written. pg_dump failed');
    expect(readdirSync(backups)).toEqual([]);
  });

  it('migrates as the owner with the settings of millrace-admin', async () => {
    const migrated = await run(['migrate'], settingsOf('admin'));
    expect(migrated).toEqual({ code: exitCodes.ok, out: 'The database is up to date.\n', err: '' });
  });

  it('sets the password again if PostgreSQL has another one', async () => {
    await query(server.url, "alter role millrace_owner password 'another one'");
    expect(await init()).toMatchObject({ code: exitCodes.ok, err: '' });
  });
});

function query(url: string, statement: string): Promise<string> {
  const env = postgresEnvironment(url, { caFile: join(folder, 'ca.pem'), name: 'test' });
  return runProgram('psql', ['-X', '-A', '-t', '-q', '-c', statement], { env }).then((out) => out.trim());
}

async function startRole(role: string, readyUrl?: string) {
  const process = await startProcess({
    name: role,
    entry: `apps/${role}/src/main.ts`,
    env: { ...settingsOf(role), MILLRACE_LOG_LEVEL: 'warn' },
    ...(readyUrl === undefined ? {} : { readyUrl }),
  });
  onTestFinished(() => process.crash());
  return process;
}

/** The proxy asks in the same way. */
function statusOfApi(): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const address = { host: '127.0.0.1', port: ports.api, path: '/readyz', agent: false as const };
    const sent = request({ ...address, ca: text('ca.pem'), servername: 'millrace.internal' }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('error', reject).end();
  });
}
