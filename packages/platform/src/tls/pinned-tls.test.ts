import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer as createPlainServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { promisify } from 'node:util';
import { makeAuthority, makeCertificate } from '@millrace/testing';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { checkPinnedTls, explainTlsError, pinnedTlsOptions, type PinnedTls } from './index.ts';

interface Pair {
  readonly certificate: string;
  readonly key: string;
}

const [server, client] = await Promise.all([makeCertificate('server'), makeCertificate('client')]);
const repair = { server: 'The engine', trust: 'Pin it.' };

async function listen(starting: Server): Promise<number> {
  starting.listen(0, '127.0.0.1');
  await once(starting, 'listening');
  onTestFinished(() => void starting.close());
  return (starting.address() as AddressInfo).port;
}

const serve = ({ certificate: cert, key }: Pair): Promise<number> =>
  listen(createServer({ cert, key }, (socket) => socket.end()).on('tlsClientError', () => undefined));

/** `connected`, or the explained error. */
async function outcomeOf(port: number, serverCertificate: string): Promise<string> {
  const tls: PinnedTls = { clientCertificate: client.certificate, clientKey: client.key, serverCertificate };
  const socket = connect({ host: '127.0.0.1', port, ...pinnedTlsOptions(tls) });
  try {
    await once(socket, 'secureConnect');
    return 'connected';
  } catch (error) {
    return explainTlsError(error, repair) ?? String(error);
  } finally {
    socket.destroy();
  }
}

/** As daemons create them: without identifiers of keys, so only the subject names the issuer. */
async function makeBareCertificate(): Promise<Pair> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-bare-'));
  const [config, cert, key] = ['conf', 'crt', 'key'].map((name) => join(folder, name));
  try {
    await writeFile(
      config ?? '',
      '[req]\ndistinguished_name=dn\nx509_extensions=v\n[dn]\n[v]\nsubjectKeyIdentifier=none\nauthorityKeyIdentifier=none\n',
    );
    const curve = [
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-noenc',
      '-subj',
      '/CN=same',
    ];
    await promisify(execFile)('openssl', [
      ...['req', '-x509', ...curve, '-days', '3', '-config', config ?? ''],
      ...['-keyout', key ?? '', '-out', cert ?? ''],
    ]);
    return { certificate: await readFile(cert ?? '', 'utf8'), key: await readFile(key ?? '', 'utf8') };
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('pinnedTlsOptions', () => {
  it('accepts the pinned certificate whatever its names', async () => {
    const forOtherHost = await makeCertificate('server', { addresses: ['192.0.2.1'] });
    expect(await outcomeOf(await serve(forOtherHost), forOtherHost.certificate)).toBe('connected');
  });

  it('accepts each of several pinned certificates that have the same subject and no key identifiers', async () => {
    const both = [await makeBareCertificate(), await makeBareCertificate()];
    for (const order of [both, both.toReversed()]) {
      const pinned = order.map(({ certificate }) => certificate).join('');
      for (const shown of both) expect(await outcomeOf(await serve(shown), pinned)).toBe('connected');
    }
  });

  it('refuses another certificate of the same name', async () => {
    const other = await makeCertificate('server');
    expect(await outcomeOf(await serve(other), server.certificate)).toMatch(
      /^The engine has a certificate that is not accepted \(\w+\)\. Pin it\.$/,
    );
  });

  it('refuses a certificate that the pinned one issued', async () => {
    const authority = await makeAuthority();
    const issued = await authority.issue({ name: 'server' });
    expect(await outcomeOf(await serve(issued), authority.certificate)).toContain('CERT_NOT_PINNED');
    expect(await outcomeOf(await serve(issued), issued.certificate)).toBe('connected');
  });

  it('refuses an expired certificate although it is pinned', async () => {
    const past = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
    const expired = await (
      await makeAuthority()
    ).issue({
      ...{ name: 'server', notBefore: past(48), notAfter: past(24) },
    });
    expect(await outcomeOf(await serve(expired), expired.certificate)).toBe(
      'The engine has a certificate that has expired (CERT_HAS_EXPIRED). Replace it, or correct the clock.',
    );
  });

  it('refuses a server without TLS', async () => {
    const port = await listen(createPlainServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
    expect(await outcomeOf(port, server.certificate)).toBe(
      'The engine does not use TLS at this address (ERR_SSL_WRONG_VERSION_NUMBER). Enable TLS on it.',
    );
  });
});

test.each<[string, Partial<PinnedTls>, string]>([
  ['a key of another certificate', { clientKey: server.key }, 'does not match the certificate'],
  ['an empty key', { clientKey: '' }, 'not a PEM private key'],
  ['an empty client certificate', { clientCertificate: '' }, 'contains no PEM certificate'],
  ['an empty server certificate', { serverCertificate: '' }, 'contains no PEM certificate'],
  [
    'a damaged server certificate',
    { serverCertificate: server.certificate.replace(/\n\w{20}/, '\n') },
    'cannot be read',
  ],
])('checkPinnedTls refuses %s without printing it', (_title, changes, reason) => {
  const tls = {
    clientCertificate: client.certificate,
    clientKey: client.key,
    serverCertificate: server.certificate,
  };
  expect(checkPinnedTls(tls, 'eu-1')).toBe(tls);
  expect(() => checkPinnedTls({ ...tls, ...changes }, 'eu-1')).toThrow(reason);
  expect(() => checkPinnedTls({ ...tls, ...changes }, 'eu-1')).not.toThrow(/BEGIN|MII/);
});
