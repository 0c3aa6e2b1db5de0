import { inspect } from 'node:util';
import { makeAuthority, startPostgresServer, startTcpProxy, type TestPostgres } from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../clock/index.ts';
import { createIdSource } from '../ids/index.ts';
import { createLogger } from '../log/index.ts';
import { createDb, isUnavailable, migrate, requireSchema, type Db, type DbOptions } from './index.ts';

/** Connections with TLS and a password to a real server. */

const authority = await makeAuthority();
const hostssl = ['hostssl all all 127.0.0.1/32 scram-sha-256'];
const settings = { fsync: 'off' };
const tls = await authority.issue({ name: 'postgres', dnsNames: ['localhost'] });

const server = await startPostgresServer({ tls, hba: hostssl, settings });
const plain = await startPostgresServer({ settings });
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await plain[Symbol.asyncDispose]();
});

function open(url: string, options: Partial<DbOptions> = {}): Db {
  const db = createDb({
    url,
    ca: authority.certificate,
    poolSize: 2,
    role: null,
    connectTimeoutMs: 60_000,
    ids: createIdSource({ clock: systemClock, cell: 1 }),
    log: createLogger({ name: 'test', level: 'silent' }),
    ...options,
  });
  onTestFinished(() => db.close());
  return db;
}

const verified = (at: TestPostgres): string => `${at.url}?sslmode=verify-full`;

async function serverWith(request: Parameters<typeof authority.issue>[0]): Promise<TestPostgres> {
  const started = await startPostgresServer({ tls: await authority.issue(request), hba: hostssl, settings });
  onTestFinished(() => started[Symbol.asyncDispose]());
  return started;
}

/** With all causes and fields. */
const textOf = (error: unknown): string => inspect(error, { depth: 10 });

async function failureOf(db: Db): Promise<string> {
  const error: unknown = await db.ping().then(
    () => expect.fail('the connection was accepted'),
    (thrown: unknown) => thrown,
  );
  expect(isUnavailable(error)).toBe(true);
  const text = textOf(error);
  expect(text).not.toContain('password@');
  expect(text).not.toContain('superuser');
  return text;
}

describe('a connection with sslmode=verify-full', () => {
  it('is encrypted, to an address and to a name in the certificate', async () => {
    for (const url of [verified(server), verified(server).replace('127.0.0.1', 'localhost')]) {
      const query = sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`;
      expect((await query.execute(open(url).kysely)).rows).toEqual([{ ssl: true }]);
    }
  });

  it('refuses a server without TLS, also if the environment of the driver disables TLS', async () => {
    vi.stubEnv('PGSSLMODE', 'disable');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await failureOf(open(verified(plain)))).toMatch(
      /offers no TLS, which sslmode=verify-full .* requires/,
    );
    await open(plain.url).ping();
  });

  it('refuses a certificate of another authority', async () => {
    const { certificate: ca } = await makeAuthority('another');
    expect(await failureOf(open(verified(server), { ca }))).toMatch(
      /MILLRACE_ENGINE_CA_FILE has the authority/,
    );
    expect(await failureOf(open(verified(server), { ca: null }))).toMatch(/MILLRACE_ENGINE_CA_FILE/);
  });

  it('refuses an expired certificate', async () => {
    const ago = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
    const expired = await serverWith({ name: 'postgres', notBefore: ago(48), notAfter: ago(24) });
    expect(await failureOf(open(verified(expired)))).toMatch(/CERT_HAS_EXPIRED.*that it has not expired/);
  });

  it('refuses a certificate without the address or the name in the URL', async () => {
    const other = await serverWith({ name: 'postgres', addresses: [], dnsNames: ['other.example'] });
    expect(await failureOf(open(verified(other)))).toMatch(/ERR_TLS_CERT_ALTNAME_INVALID/);
    const wrongName = verified(other).replace('127.0.0.1', 'localhost');
    expect(await failureOf(open(wrongName))).toMatch(/contains the name or address in MILLRACE_POSTGRES_URL/);
  });

  it('refuses a wrong password without printing it', async () => {
    const url = new URL(verified(server));
    url.password = 'hunter2';
    const text = await failureOf(open(url.href));
    expect(text).toContain('refused the user or the password in MILLRACE_POSTGRES_URL');
    expect(text).not.toContain('hunter2');
    url.password = '';
    expect(await failureOf(open(url.href))).toContain(
      'asks for a password, and MILLRACE_POSTGRES_URL has none',
    );
  });

  it('applies to migrations', async () => {
    const { certificate: ca } = await makeAuthority('another');
    await expect(migrate(verified(server), { ca })).rejects.toThrow(/MILLRACE_ENGINE_CA_FILE/);
    await expect(migrate(verified(plain))).rejects.toThrow(/offers no TLS/);
  });

  it('sends no readable SQL, which a capture would see without TLS', async () => {
    const captured = async (url: string): Promise<string> => {
      await using proxy = await startTcpProxy(url, { capture: true });
      await sql`select 'a readable text'`.execute(open(proxy.rewrite(url)).kysely);
      return proxy.captured();
    };
    expect(await captured(plain.url)).toContain('a readable text');
    expect(await captured(verified(server))).not.toContain('a readable text');
  });
});

it('a connection without TLS is refused by a server that requires it, with the setting to change', async () => {
  expect(await failureOf(open(server.url))).toMatch(
    /no encryption.*sslmode=verify-full in MILLRACE_POSTGRES_URL/,
  );
});

it('a missing role, and a role that was not granted, are refused with the repair', async () => {
  expect(await failureOf(open(plain.url, { role: 'millrace_missing' }))).toMatch(
    /Run millrace-admin migrate first/,
  );
  const owner = open(plain.url);
  await sql`create role millrace_other nologin`.execute(owner.kysely);
  await sql`create role visitor login password 'visitor'`.execute(owner.kysely);
  const visitor = new URL(plain.url);
  Object.assign(visitor, { username: 'visitor', password: 'visitor' });
  const denied = open(visitor.href, { role: 'millrace_other' });
  expect(await failureOf(denied)).toMatch(/Grant the role to the login/);
  await expect(requireSchema(denied)).rejects.toThrow(/Grant the role to the login/);
});
