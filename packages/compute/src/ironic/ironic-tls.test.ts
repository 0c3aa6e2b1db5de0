import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '@millrace/platform/clock';
import { createLogger } from '@millrace/platform/log';
import { makeAuthority, makeCertificate } from '@millrace/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectDriver, type ConnectDeps } from '../connect.ts';
import type { ComputeDriver } from '../driver.ts';

// Real TLS to a double of Ironic without nodes. Its password is checked as the real one does.

const authority = await makeAuthority();
const past = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
const [issued, forOtherHost, expired, selfSigned, another] = await Promise.all([
  authority.issue({ name: 'ironic' }),
  authority.issue({ name: 'ironic', addresses: ['192.0.2.1'] }),
  authority.issue({ name: 'ironic', notBefore: past(48), notAfter: past(24) }),
  // Without the address at which it is reached.
  makeCertificate('ironic', { addresses: ['192.0.2.1'] }),
  makeAuthority('another'),
]);
const never = new AbortController().signal;

interface Harness {
  readonly url: string;
  /** The password that the server accepts. */
  password: string;
  readonly passwords: string[];
  readonly log: () => string;
  setPassword(password: string): Promise<void>;
  connect(options?: {
    readonly endpoint?: string;
    readonly allowPlaintext?: boolean;
  }): Promise<ComputeDriver>;
}

async function open(options: {
  readonly shown?: { readonly certificate: string; readonly key: string } | null;
  readonly trusted?: string | null;
  readonly password?: string;
}): Promise<Harness> {
  const { shown = issued, trusted = authority.certificate, password = 'open sesame' } = options;
  const folder = await mkdtemp(path.join(tmpdir(), 'mr-ironic-tls-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [passwordFile, serverCertificateFile] = [path.join(folder, 'password'), path.join(folder, 'ca.pem')];
  const setPassword = (text: string): Promise<void> => writeFile(passwordFile, `${text}\n`);
  await setPassword(password);
  if (trusted !== null) await writeFile(serverCertificateFile, trusted);
  const passwords: string[] = [];
  const respond = (request: IncomingMessage, response: ServerResponse): void => {
    const [, encoded = ''] = (request.headers.authorization ?? '').split(' ');
    const given = Buffer.from(encoded, 'base64').toString().replace('millrace:', '');
    passwords.push(given);
    const isKnown = given === harness.password;
    const body = isKnown
      ? { nodes: [], allocations: [], conductors: [{ alive: true }] }
      : { error: { message: 'Incorrect username or password' } };
    response.writeHead(isKnown ? 200 : 401).end(JSON.stringify(body));
  };
  const server: Server =
    shown === null
      ? createHttpServer(respond)
      : createServer({ cert: shown.certificate, key: shown.key }, respond).on(
          'tlsClientError',
          () => undefined,
        );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  let text = '';
  const destination = { write: (line: string) => void (text += line) };
  const deps: ConnectDeps = {
    // Ironic needs neither.
    db: undefined as never,
    guard: undefined as never,
    clock: systemClock,
    log: createLogger({ name: 'test', level: 'info', destination }),
    credentials: {
      metal: {
        username: 'millrace',
        passwordFile,
        serverCertificateFile: trusted === null ? null : serverCertificateFile,
      },
    },
    opensPorts: false,
  };
  const url = `${shown === null ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const image = { url: 'https://images.example.com/a.qcow2', sha256: 'a'.repeat(64) };
  const harness: Harness = {
    url,
    password: 'open sesame',
    passwords,
    log: () => text,
    setPassword,
    connect: async ({ endpoint = url, allowPlaintext } = {}) => {
      const driver = await connectDriver(
        {
          ...{ name: 'metal', driver: 'ironic', endpoint, credentialRef: 'metal' },
          settings: { images: { ubuntu: image }, defaultImage: 'ubuntu' },
        },
        { ...deps, ...(allowPlaintext !== undefined && { allowPlaintext }) },
      );
      onTestFinished(() => driver.close());
      return driver;
    },
  };
  return harness;
}

async function failureOf(harness: Harness, endpoint = harness.url): Promise<unknown> {
  const driver = await harness.connect({ endpoint });
  return driver.listOwned(never).then(
    () => 'accepted',
    (error: unknown) => error,
  );
}

describe('a connection to Ironic', () => {
  it('accepts a certificate of the authority in the credential, or the certificate itself', async () => {
    expect(await failureOf(await open({}))).toBe('accepted');
    expect(await failureOf(await open({ shown: selfSigned, trusted: selfSigned.certificate }))).toBe(
      'accepted',
    );
    expect(await failureOf(await open({ trusted: issued.certificate }))).toBe('accepted');
  });

  it.each<[string, Parameters<typeof open>[0], RegExp]>([
    [
      'a certificate of another authority',
      { trusted: another.certificate },
      /certificate that is not accepted .*serverCertificateFile of the credential/,
    ],
    ['a private certificate without a file', { trusted: null }, /certificate that is not accepted/],
    [
      'a certificate of the authority for another address',
      { shown: forOtherHost },
      /ERR_TLS_CERT_ALTNAME_INVALID.*contains the name or address of the endpoint/,
    ],
    ['an expired certificate', { shown: expired }, /certificate that has expired \(CERT_HAS_EXPIRED\)/],
  ])('is refused with %s, before the password is sent', async (_title, options, reason) => {
    const harness = await open(options);
    const failure = await failureOf(harness);
    expect(failure).toMatchObject({ kind: 'unavailable', message: expect.stringMatching(reason) });
    expect(harness.passwords).toEqual([]);
  });

  it('is refused if the server does not use TLS', async () => {
    const harness = await open({ shown: null });
    const failure = await failureOf(harness, harness.url.replace('http:', 'https:'));
    expect(failure).toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/does not use TLS at this address/),
    });
    expect(harness.passwords).toEqual([]);
  });

  it('is refused without TLS to another machine, unless plaintext is allowed', async () => {
    const harness = await open({ shown: null });
    // Not a loopback address, although the kernel connects it to this machine.
    const endpoint = harness.url.replace('127.0.0.1', '0.0.0.0');
    await expect(harness.connect({ endpoint })).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringMatching(
        /must begin with https:\/\/, or set MILLRACE_ALLOW_PLAINTEXT_ENGINES=true/,
      ),
    });
    expect(harness.passwords).toEqual([]);
    const allowed = await harness.connect({ endpoint, allowPlaintext: true });
    expect(await allowed.listOwned(never)).toMatchObject({ machines: [] });
    expect(await failureOf(harness)).toBe('accepted');
  });

  it('reports a wrong password without printing it, after two requests', async () => {
    const harness = await open({ password: 'wrong words' });
    const failure = await failureOf(harness);
    expect(failure).toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(
        /Incorrect username or password \(401\).*check its username and its password/,
      ),
    });
    expect(`${String(failure)} ${harness.log()}`).not.toContain('wrong words');
  });
});

describe('Ironic driver', () => {
  it('has no failed call when the password is replaced in Ironic and in the file', async () => {
    const harness = await open({});
    const driver = await harness.connect();
    await driver.listOwned(never);
    await harness.setPassword('another one');
    harness.password = 'another one';
    await driver.listOwned(never);
    expect(new Set(harness.passwords)).toEqual(new Set(['open sesame', 'another one']));
    expect(harness.log()).toContain('credential reloaded');
    expect(harness.log()).not.toContain('another one');
  });

  it('reads a refused password again once for each call, and does not repeat the call with the same one', async () => {
    const harness = await open({});
    const driver = await harness.connect();
    await driver.listOwned(never);
    harness.password = 'another one';
    const before = harness.passwords.length;
    await expect(driver.readInventory(never)).rejects.toMatchObject({ kind: 'unavailable' });
    const tried = harness.passwords.length - before;
    await expect(driver.readInventory(never)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(harness.passwords.length - before).toBe(2 * tried);
    await harness.setPassword('another one');
    expect(await driver.listOwned(never)).toMatchObject({ machines: [] });
  });

  it.each([
    ['an empty password file', { password: '' }, /password file .* is empty/],
    ['a certificate file without a certificate', { trusted: 'x' }, /contains no PEM certificate/],
  ])('refuses %s when it connects', async (_title, options, reason) => {
    const harness = await open(options);
    await expect(harness.connect()).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringMatching(reason),
    });
  });
});
