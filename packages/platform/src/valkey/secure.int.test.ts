import { createHash } from 'node:crypto';
import {
  eventually,
  makeAuthority,
  startTcpProxy,
  startValkeyServer,
  type TestValkey,
} from '@millrace/testing';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { createLogger } from '../log/index.ts';
import { connectValkey, renderValkeyUsers, type ValkeyClient, type ValkeyOptions } from './index.ts';

/** Connections with TLS and a user to a real server. */

const authority = await makeAuthority();
const tls = await authority.issue({ name: 'valkey', dnsNames: ['localhost'] });
const hash = (password: string): string => createHash('sha256').update(password).digest('hex');

function usersWith(...passwords: readonly string[]): string {
  const grants = [{ commands: ['get', 'set'], keys: ['own:*'] }];
  return renderValkeyUsers([
    { name: 'reader', passwordHashes: passwords.map(hash), grants },
    { name: 'all', passwordHashes: [hash('super')], grants: null },
  ]);
}

const secured = { ca: authority.certificate, login: 'all:super' };
const startSecure = async (options: Partial<Parameters<typeof startValkeyServer>[0]> = {}) =>
  startValkeyServer({ ...secured, tls, users: usersWith('first'), ...options });
const server = await startSecure();
const plain = await startValkeyServer();
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await plain[Symbol.asyncDispose]();
});

function readableLog() {
  let text = '';
  const destination = { write: (line: string) => void (text += line) };
  return { log: createLogger({ name: 'test', level: 'info', destination }), text: () => text };
}

const urlOf = ({ port }: TestValkey, login = 'reader:first'): string => `rediss://${login}@127.0.0.1:${port}`;

async function open(url: string, options: Partial<ValkeyOptions> = {}): Promise<ValkeyClient> {
  const client = await connectValkey({
    url,
    ca: authority.certificate,
    name: 'test',
    log: readableLog().log,
    commandTimeoutMs: 60_000,
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

/** Connects several times and returns the reason, which is logged once. */
async function rejectionOf(url: string, options: Partial<ValkeyOptions> = {}): Promise<string> {
  const { log, text } = readableLog();
  const client = await open(url, { log, firstConnectionMs: 1_000, ...options });
  const error: unknown = await client.ping().catch((thrown: unknown) => thrown);
  const reason = error instanceof Error ? error.message : expect.fail('the connection was accepted');
  expect(text().split(JSON.stringify(reason).slice(1, -1))).toHaveLength(2);
  expect(text()).not.toContain('hunter2');
  return reason;
}

describe('connectValkey with rediss://', () => {
  it('connects to an address and to a name in the certificate', async () => {
    for (const url of [urlOf(server), urlOf(server).replace('127.0.0.1', 'localhost')]) {
      await (await open(url)).ping();
    }
  });

  it('refuses a server without TLS', async () => {
    const reason = await rejectionOf(urlOf(plain), { firstConnectionMs: 5_000 });
    expect(reason).toMatch(/server uses TLS there \(tls-port\)|Valkey does not use TLS at this address/);
  });

  it('refuses a certificate of another authority', async () => {
    const { certificate: ca } = await makeAuthority('another');
    expect(await rejectionOf(urlOf(server), { ca })).toMatch(/MILLRACE_ENGINE_CA_FILE has the authority/);
    expect(await rejectionOf(urlOf(server), { ca: null })).toMatch(/MILLRACE_ENGINE_CA_FILE/);
  });

  it('refuses an expired certificate', async () => {
    const ago = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
    const own = await startSecure();
    onTestFinished(() => own[Symbol.asyncDispose]());
    await own.replace({ tls: await authority.issue({ name: 'v', notBefore: ago(48), notAfter: ago(24) }) });
    expect(await rejectionOf(urlOf(own))).toMatch(/certificate that has expired/);
  });

  it('refuses a certificate without the address in the URL', async () => {
    const own = await startSecure();
    onTestFinished(() => own[Symbol.asyncDispose]());
    await own.replace({
      tls: await authority.issue({ name: 'v', addresses: [], dnsNames: ['other.example'] }),
    });
    expect(await rejectionOf(urlOf(own))).toMatch(/contains the name or address in MILLRACE_VALKEY_URL/);
  });

  it('sends no readable value, which a capture would see without TLS', async () => {
    const captured = async (url: string): Promise<string> => {
      await using proxy = await startTcpProxy(url, { capture: true });
      const client = await open(proxy.rewrite(url));
      await client.command(['SET', 'own:key', 'a readable value']);
      await client.close();
      return proxy.captured();
    };
    expect(await captured(plain.url)).toContain('a readable value');
    expect(await captured(urlOf(server))).not.toContain('a readable value');
  });
});

it('a connection without TLS to a server that requires it is refused with the scheme to use', async () => {
  expect(await rejectionOf(urlOf(server).replace('rediss:', 'redis:'))).toMatch(
    /use rediss:\/\/ in MILLRACE_/,
  );
});

describe('the user in the URL', () => {
  it('is refused if its password is wrong or missing, or if it does not exist', async () => {
    for (const login of ['reader:hunter2', 'unknown:hunter2', 'default:hunter2']) {
      expect(await rejectionOf(urlOf(server, login))).toMatch(
        /refused the user or the password in MILLRACE_/,
      );
    }
    const without = urlOf(server).replace('reader:first@', '');
    expect(await rejectionOf(without)).toMatch(/asks for a user and a password, and MILLRACE_VALKEY_URL/);
  });

  it('gets an error for other commands and keys, with the reason logged once', async () => {
    const { log, text } = readableLog();
    const client = await open(urlOf(server), { log });
    await client.command(['SET', 'own:key', 'value']);
    for (let time = 1; time <= 3; time += 1) {
      await expect(client.command(['FLUSHALL'])).rejects.toThrow('NOPERM');
      await expect(client.command(['GET', 'foreign:key'])).rejects.toThrow('NOPERM');
    }
    expect(text().match(/Renew the users of the server with `millrace-admin valkey users`/g)).toHaveLength(2);
    expect(await client.command(['GET', 'own:key'])).toBe('value');
  });
});

it('certificate and password are replaced under load without a failed command', async () => {
  const own = await startSecure();
  onTestFinished(() => own[Symbol.asyncDispose]());
  const counts = { old: 0, renewed: 0 };
  let [isRenewed, isDone] = [false, false];
  async function load(client: ValkeyClient, name: keyof typeof counts, isLast: () => boolean): Promise<void> {
    for (; !isLast(); counts[name] += 1) {
      const [key, value] = [`own:${name}`, String(counts[name])];
      await client.command(['SET', key, value]);
      expect(await client.command(['GET', key])).toBe(value);
    }
  }
  const more = (name: keyof typeof counts): Promise<unknown> => {
    const before = counts[name];
    return eventually({ what: `commands of the ${name} process` }, () => counts[name] > before + 100);
  };
  const old = await open(urlOf(own));
  const oldLoad = load(old, 'old', () => isRenewed);
  await more('old');
  await own.replace({ users: usersWith('first', 'second') });
  await own.replace({ tls: await authority.issue({ name: 'renewed' }) });
  await more('old');
  const renewed = await open(urlOf(own, 'reader:second'));
  const newLoad = load(renewed, 'renewed', () => isDone);
  await more('renewed');
  // The old process stops before its password.
  isRenewed = true;
  await oldLoad;
  await own.replace({ users: usersWith('second') });
  await more('renewed');
  isDone = true;
  await newLoad;
  expect(await rejectionOf(urlOf(own))).toMatch(/refused the user or the password/);
});
