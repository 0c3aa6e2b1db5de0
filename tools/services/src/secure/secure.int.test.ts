import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';

import { connect, credsAuthenticator } from '@nats-io/transport-node';
import { expect, test } from 'vitest';

import { ensureUp, issueNatsCredentials, natsPermissionsFor, postgresProgram } from '../index.ts';
import { exchangeText } from '../loopback-client.ts';
import { createPrivateSite, states } from '../private-site.ts';
import { run } from '../processes.ts';

test('a secure site: NATS requires TLS and a user, the site keeps its mode, and its credentials are private', async () => {
  const place = await createPrivateSite();
  const { natsUrls, secure } = await ensureUp(['nats'], { ...place, secure: true });
  const { caFile, nats } = secure ?? expect.fail('the site is not secure');
  const [url = ''] = natsUrls;
  expect(url).toMatch(/^tls:/u);
  const own = natsPermissionsFor(nats.permissions.gateway, 'mine');
  expect(own.publish).toContain('mine.usage.1.batch');
  const credentials = issueNatsCredentials(nats.accountSeed, 'gateway', own);
  const authenticator = credsAuthenticator(new TextEncoder().encode(credentials));
  const to = { servers: url, tls: { ca: readFileSync(caFile, 'utf8') }, reconnect: false } as const;
  const localhost = { ...to, servers: url.replace('127.0.0.1', 'localhost') };
  const gateway = await connect({ ...localhost, authenticator, inboxPrefix: 'mine._INBOX.gateway' });
  await expect(gateway.request('other.usage.1.batch')).rejects.toThrow(/permissions violation/iu);
  await gateway.close();
  await expect(connect(localhost)).rejects.toThrow(/authorization violation/iu);
  await expect(connect({ ...localhost, tls: {}, authenticator })).rejects.toThrow(/certificate/u);
  // Without the option, `up` keeps what the folder recorded.
  expect((await ensureUp(['nats'], place)).secure?.caFile).toBe(caFile);
  for (const file of ['endpoints.json', 'tls/ca.key', 'secrets/nats-account']) {
    expect(statSync(path.join(place.stateDir, file)).mode & 0o077).toBe(0);
  }
});

test('a secure site: PostgreSQL requires TLS and a password, and each login has the role of one process', async () => {
  const place = await createPrivateSite();
  const { postgresUrl, secure } = await ensureUp(['postgres'], { ...place, secure: true });
  const { postgres } = secure ?? expect.fail('the site is not secure');
  const psql = async (url: string, sql: string): Promise<string> => {
    const { stdout, stderr } = await run(postgresProgram('psql'), ['-XAtqc', sql, url], { cwd: '/' });
    return `${stdout}${stderr}`.trim();
  };
  const encrypted = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';
  expect(await psql(postgresUrl, encrypted)).toBe('t');
  expect(await psql(postgresUrl.replace('verify-full', 'disable'), encrypted)).toMatch(/no encryption/u);
  for (const role of ['api', 'worker', 'admin'] as const) {
    const login = new URL(postgresUrl);
    Object.assign(login, { username: postgres[role].user, password: 'wrong' });
    expect(await psql(login.href, encrypted)).toMatch(/password authentication failed/u);
    login.password = postgres[role].password;
    expect(await psql(login.href, `set role millrace_${role}; select current_user`)).toBe(`millrace_${role}`);
    const other = role === 'api' ? 'worker' : 'api';
    expect(await psql(login.href, `set role millrace_${other}`)).toMatch(/permission denied to set role/u);
  }
  // Another `up` finds everything in place.
  expect((await ensureUp(['postgres'], place)).postgresUrl).toBe(postgresUrl);
});

test('a secure site: Valkey requires TLS and a user, and each user has the permissions of one process', async () => {
  const place = await createPrivateSite();
  const { valkeyUrl, secure } = await ensureUp(['valkey'], { ...place, secure: true });
  const { caFile, valkey } = secure ?? expect.fail('the site is not secure');
  const url = new URL(valkeyUrl);
  const exchange = (send: string, ca: string | undefined): Promise<string> =>
    exchangeText({
      ...{ port: Number(url.port), send: [send], timeoutMs: 60_000 },
      tls: ca === undefined ? undefined : { ca },
      until: (text) => text.endsWith('\r\n'),
    });
  const ca = readFileSync(caFile, 'utf8');
  await expect(exchange('PING\r\n', undefined)).rejects.toThrow(/closed|ECONNRESET/u);
  expect(await exchange('PING\r\n', ca)).toMatch(/^-NOAUTH/u);
  for (const { user, password } of Object.values(valkey)) {
    const login = `AUTH ${user} ${password}\r\n`;
    expect(await exchange(`AUTH ${user} wrong\r\n`, ca)).toMatch(/^-WRONGPASS/u);
    expect(await exchange(login, ca)).toBe('+OK\r\n');
  }
  expect(await exchange(`AUTH all ${url.password}\r\n`, ca)).toBe('+OK\r\n');
  // Another `up` finds everything in place.
  expect((await ensureUp(['valkey'], place)).valkeyUrl).toBe(valkeyUrl);
});

test('a secure site: only the certificate of workers opens Restate', async () => {
  const place = await createPrivateSite();
  const { restate, secure } = await ensureUp(['restate'], { ...place, secure: true });
  const { caFile, restate: access } = secure ?? expect.fail('the site is not secure');
  const ca = readFileSync(caFile, 'utf8');
  const pair = {
    cert: readFileSync(access.certificateFile, 'utf8'),
    key: readFileSync(access.keyFile, 'utf8'),
  };
  for (const [address, page] of [
    [access.ingressUrl, '/restate/health'],
    [access.adminUrl, '/health'],
  ] as const) {
    const request = {
      port: Number(new URL(address).port),
      send: [`GET ${page} HTTP/1.1\r\nhost: localhost\r\n\r\n`],
      until: (text: string) => text.includes('\r\n\r\n'),
      timeoutMs: 60_000,
    };
    expect(await exchangeText({ ...request, tls: { ca, ...pair } })).toMatch(/^HTTP\/1\.1 200/u);
    await expect(exchangeText({ ...request, tls: { ca } })).rejects.toThrow(/certificate required|closed/u);
    await expect(exchangeText(request)).rejects.toThrow(/closed|ECONNRESET/u);
  }
  // Restate itself is not reachable from other machines.
  expect([restate.ingressUrl, restate.adminUrl].map((url) => new URL(url).hostname)).toEqual([
    '127.0.0.1',
    '127.0.0.1',
  ]);
  expect(await states(place)).toMatchObject({ restate: 'ready', 'restate-proxy': 'ready' });
});

test('up --secure refuses a folder whose engines were started without it', async () => {
  const place = await createPrivateSite();
  await ensureUp(['nats'], place);
  await expect(ensureUp(['nats'], { ...place, secure: true })).rejects.toThrow(
    /was created without --secure/u,
  );
});
