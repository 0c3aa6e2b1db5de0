import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo, type Server } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { systemClock } from '@millrace/platform/clock';
import { makeAuthority, makeCertificate } from '@millrace/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { failureOf, openIncusCertificates, startLoad, type Pair } from './incus-certificates.fixture.ts';

// Real TLS to a double of a daemon, which knows no machine. `incus-certificates.int.test.ts` uses a real daemon.

const [server, client] = await Promise.all([makeCertificate('incus'), makeCertificate('millrace')]);
const [nextServer, nextClient] = await Promise.all([makeCertificate('incus'), makeCertificate('millrace')]);

async function listen(starting: Server): Promise<number> {
  starting.listen(0, '127.0.0.1');
  await once(starting, 'listening');
  onTestFinished(() => void starting.close());
  return (starting.address() as AddressInfo).port;
}

/** As Incus does, it accepts any client in the handshake and refuses the requests of those that it does not trust. */
async function startDaemon({ certificate: cert, key }: Pair, trusted: Set<string>) {
  const daemon = createHttpsServer({ cert, key, requestCert: true, rejectUnauthorized: false });
  daemon.on('tlsClientError', () => undefined);
  daemon.on('request', (request, response) => {
    const { fingerprint256 } = (request.socket as TLSSocket).getPeerCertificate();
    const isTrusted = trusted.has(fingerprint256.replaceAll(':', '').toLowerCase());
    const error = isTrusted ? 'Instance not found' : 'not authorized';
    const status = isTrusted ? 404 : 403;
    // Takes some time, so that calls are in progress whenever certificates change.
    systemClock.after(5, () => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ type: 'error', error, error_code: status, metadata: null }));
    });
  });
  const port = await listen(daemon);
  onTestFinished(() => daemon.closeAllConnections());
  return {
    url: `https://127.0.0.1:${port}`,
    show: (next: Pair) => daemon.setSecureContext({ cert: next.certificate, key: next.key }),
  };
}

async function open(files: { readonly client: Pair; readonly pinned: string }, shown: Pair = server) {
  const trusted = new Set([client.fingerprint]);
  const daemon = await startDaemon(shown, trusted);
  const harness = await openIncusCertificates(daemon.url, files);
  onTestFinished(() => harness[Symbol.asyncDispose]());
  return { daemon, harness, trusted };
}

const usual = { client, pinned: server.certificate };

async function expired() {
  const past = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
  return (await makeAuthority()).issue({ name: 'incus', notBefore: past(48), notAfter: past(24) });
}

it('Incus driver has no failed call while the certificates of both sides are replaced', async () => {
  const { daemon, harness, trusted } = await open(usual);
  const load = await startLoad(harness);
  await harness.write({ pinned: server.certificate + nextServer.certificate });
  await harness.reloaded(2);
  daemon.show(nextServer);
  await load.pass(5);
  await harness.write({ pinned: nextServer.certificate });
  await harness.reloaded(2);

  trusted.add(nextClient.fingerprint);
  await harness.write({ client: nextClient });
  await harness.reloaded(2);
  await load.pass(1);
  trusted.delete(client.fingerprint);
  await load.pass(5);
  expect(await load.stop()).toEqual([]);
  expect(harness.log()).not.toContain('PRIVATE KEY');
});

it('Incus driver uses a corrected pin at the next call after a refusal', async () => {
  const { harness } = await open({ ...usual, pinned: nextServer.certificate });
  const driver = await harness.connect();
  expect(await failureOf(driver)).toMatchObject({ kind: 'unavailable' });
  await harness.write({ pinned: server.certificate });
  expect(await failureOf(driver)).toBeNull();
});

describe('a connection to Incus', () => {
  it('explains that the daemon does not trust the client certificate', async () => {
    const { harness } = await open({ ...usual, client: nextClient });
    const failure = await failureOf(await harness.connect());
    expect(failure).toMatchObject({
      message: expect.stringMatching(/does not trust the client certificate.*incus config trust add-cert/),
    });
    expect(String(failure)).not.toMatch(/BEGIN|PRIVATE/);
  });

  it('is refused if the certificate of the daemon has expired', async () => {
    const old = await expired();
    const { harness } = await open({ client, pinned: old.certificate }, old);
    expect(await failureOf(await harness.connect())).toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/certificate that has expired \(CERT_HAS_EXPIRED\)\. Replace it/),
    });
  });

  it('is refused if the daemon presents a certificate that is not pinned', async () => {
    const { harness } = await open({ ...usual, pinned: nextServer.certificate });
    expect(await failureOf(await harness.connect())).toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/Put its certificate into the serverCertificateFile/),
    });
  });

  it('is refused if the daemon does not use TLS', async () => {
    const { harness } = await open(usual);
    const port = await listen(createServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n')));
    expect(await failureOf(await harness.connect(`https://127.0.0.1:${port}`))).toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/does not use TLS at this address/),
    });
    for (const endpoint of [`http://127.0.0.1:${port}`, 'https://10.0.0.1:8443,http://10.0.0.2:8443', 'x']) {
      await expect(harness.connect(endpoint)).rejects.toMatchObject({
        kind: 'refused',
        message: 'Each endpoint of an Incus cluster must begin with https://.',
      });
    }
  });

  it('is refused with a key that does not match the client certificate', async () => {
    const { harness } = await open({ ...usual, client: { ...client, key: nextClient.key } });
    await expect(harness.connect()).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringMatching(/key .* does not match the certificate/),
    });
  });
});
