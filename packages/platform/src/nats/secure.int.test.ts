import {
  makeAuthority,
  startNatsServer,
  startTcpProxy,
  eventually,
  type TestNatsServer,
} from '@millrace/testing';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../clock/index.ts';
import type { Envelope } from '../envelope/index.ts';
import { createLogger } from '../log/index.ts';
import { connectNats, createNatsKey, type NatsClient, type NatsOptions } from './index.ts';

/** A connection with TLS and credentials to a real server. */

const authority = await makeAuthority();
const tls = await authority.issue({ name: 'nats' });
const [key, otherKey] = [createNatsKey(), createNatsKey()];
const usersOf = (publicKey: string): string => `authorization { users: [ { nkey: ${publicKey} } ] }`;

const server = await startNatsServer({ tls, config: usersOf(key.publicKey) });
afterAll(() => server[Symbol.asyncDispose]());

function readableLog() {
  let text = '';
  const destination = { write: (line: string) => void (text += line) };
  return { log: createLogger({ name: 'test', level: 'info', destination }), text: () => text };
}

const envelope: Envelope = {
  cell: 1,
  mode: 'live',
  actor: { kind: 'system', id: 'test' },
  schemaVersion: 1,
  traceparent: null,
};

const accepted = { ca: authority.certificate, credentials: key.seed };

async function open(to: TestNatsServer, options: Partial<NatsOptions> = {}): Promise<NatsClient> {
  const { log } = readableLog();
  const servers = [`tls://${to.host}`];
  const client = await connectNats({
    servers,
    name: 'test',
    log,
    firstConnectionMs: 0,
    ...accepted,
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

async function startServer(options: Parameters<typeof startNatsServer>[0]): Promise<TestNatsServer> {
  const started = await startNatsServer(options);
  onTestFinished(() => started[Symbol.asyncDispose]());
  return started;
}

describe('connectNats with tls://', () => {
  it('connects to a server with a certificate of the authority and an accepted key', async () => {
    await (await open(server)).ping();
  });

  it('refuses a server without TLS', async () => {
    const plain = await startServer({ config: usersOf(key.publicKey) });
    await expect(open(plain)).rejects.toThrow(
      /does not offer TLS, which tls:\/\/ in MILLRACE_NATS_URLS requires/,
    );
    await (await open(plain, { servers: [`nats://${plain.host}`] })).ping();
  });

  it('refuses a certificate of another authority', async () => {
    const { certificate: ca } = await makeAuthority('another');
    await expect(open(server, { ca })).rejects.toThrow(
      /Check that MILLRACE_ENGINE_CA_FILE has the authority/,
    );
    await expect(open(server, { ca: null })).rejects.toThrow(/MILLRACE_ENGINE_CA_FILE/);
  });

  it('refuses an expired certificate', async () => {
    const hour = 3_600_000;
    const past = (hours: number): Date => new Date(Date.now() - hours * hour);
    const expired = await authority.issue({ name: 'nats', notBefore: past(48), notAfter: past(24) });
    const late = await startServer({ tls: expired, config: usersOf(key.publicKey) });
    await expect(open(late)).rejects.toThrow(/CERT_HAS_EXPIRED.*that it has not expired/);
  });

  // An address has no name that the client could verify, so these would pass if it verified `localhost`.
  it('refuses a certificate without the address or the name in the URL', async () => {
    const named = await authority.issue({ name: 'nats', addresses: [], dnsNames: ['localhost'] });
    const byName = await startServer({ tls: named, config: usersOf(key.publicKey) });
    await expect(open(byName)).rejects.toThrow(/ERR_TLS_CERT_ALTNAME_INVALID/);
    const url = `tls://${byName.host.replace('127.0.0.1', 'localhost')}`;
    await (await open(byName, { servers: [url] })).ping();
    const other = await authority.issue({ name: 'nats', dnsNames: ['other.example'] });
    const byAddress = await startServer({ tls: other, config: usersOf(key.publicKey) });
    const wrongName = [`tls://${byAddress.host.replace('127.0.0.1', 'localhost')}`];
    await expect(open(byAddress, { servers: wrongName })).rejects.toThrow(/ERR_TLS_CERT_ALTNAME_INVALID/);
  });

  it('sends no readable payload, which a capture would see without TLS', async () => {
    const plain = await startServer({ config: usersOf(key.publicKey) });
    const captured = async (to: TestNatsServer, scheme: string): Promise<string> => {
      await using proxy = await startTcpProxy(to.host, { capture: true });
      const client = await open(to, { servers: [proxy.rewrite(`${scheme}://${to.host}`)] });
      client.notify('any.subject', { secret: 'a readable payload' }, envelope);
      await client.ping();
      await client.close();
      return proxy.captured();
    };
    expect(await captured(plain, 'nats')).toContain('a readable payload');
    expect(await captured(server, 'tls')).not.toContain('a readable payload');
  });
});

describe('connectNats with credentials', () => {
  it('refuses to connect with a key that the server does not know, and logs the reason while it retries', async () => {
    const { log, text } = readableLog();
    const options = { credentials: otherKey.seed, log };
    await expect(open(server, options)).rejects.toThrow(
      /NATS refused the credentials.*MILLRACE_NATS_CREDENTIALS/,
    );
    await expect(open(server, { credentials: null })).rejects.toThrow(/NATS refused the credentials/);
    const giveUp = new AbortController();
    let attempts = 0;
    const sleep = async (ms: number): Promise<void> => {
      attempts += 1;
      if (attempts === 3) giveUp.abort();
      await systemClock.sleep(ms);
    };
    const retrying = { clock: { ...systemClock, sleep }, firstConnectionMs: Infinity, signal: giveUp.signal };
    await expect(open(server, { ...options, ...retrying })).rejects.toThrow(/aborted/);
    expect(text().match(/NATS refused the credentials/g)).toHaveLength(1);
    expect(text()).not.toContain(otherKey.seed);
  });

  it.each(['SUAAAA', 'anything else', '-----BEGIN NATS USER JWT-----\nx\n------END NATS USER JWT------'])(
    'refuses unreadable credentials without printing them: %j',
    async (credentials) => {
      const refused = open(server, { credentials });
      await expect(refused).rejects.toThrow(/The NATS credentials cannot be read/);
      await expect(refused).rejects.not.toThrow(credentials);
    },
  );

  it('uses the user and password, or the token, of the URL', async () => {
    const config = 'authorization { users: [ { user: "millrace", password: "p@ss:4222" } ] }';
    const withUsers = await startServer({ config });
    const none = { ca: null, credentials: null };
    const right = `nats://millrace:p%40ss%3A4222@${withUsers.host}`;
    await (await open(withUsers, { servers: [right, right], ...none })).ping();
    const wrong = open(withUsers, { servers: [`nats://millrace:wrong@${withUsers.host}`], ...none });
    await expect(wrong).rejects.toThrow(/NATS refused the credentials/);
    await expect(wrong).rejects.not.toThrow('wrong@');
    const withToken = await startServer({ config: 'authorization { token: "t0ken" }' });
    await (await open(withToken, { servers: [`nats://t0ken@${withToken.host}`], ...none })).ping();
  });

  it('reports a key that the server stops to accept, and continues when it is accepted again', async () => {
    const { log, text } = readableLog();
    const own = await startServer({ tls, config: usersOf(key.publicKey) });
    const client = await open(own, { log });
    await client.ping();
    await own.reload({ tls, config: usersOf(otherKey.publicKey) });
    await eventually({ what: 'the refusal' }, () => text().includes('NATS refused the credentials'));
    await expect(client.ping()).rejects.toThrow('NATS refuses the credentials of this process.');
    expect(client.connected()).toBe(false);
    await own.reload({ tls, config: usersOf(key.publicKey) });
    await eventually({ what: 'the connection' }, async () => {
      await client.ping();
      return true;
    });
    expect(text().match(/NATS refused the credentials/g)).toHaveLength(1);
    expect(text()).not.toContain(key.seed);
  });
});
