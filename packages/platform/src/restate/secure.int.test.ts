import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, constants } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { object, type ObjectContext } from '@restatedev/restate-sdk';
import { eventually, makeAuthority, servedFingerprint, startRestateServer } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../clock/index.ts';
import type { Envelope } from '../envelope/index.ts';
import { createLogger } from '../log/index.ts';
import {
  createRestateConnection,
  createRestateEndpoint,
  createRestateIngress,
  openClientCertificate,
  registerDeployment,
  type ClientCertificate,
  type RestateConnection,
  type RestateEndpoint,
} from './index.ts';

/** A real Restate behind HAProxy with the shipped configuration, and handlers that serve TLS. */

const authority = await makeAuthority();
const clientName = 'millrace-worker';
const worker = await authority.issue({ name: clientName });
const proxyTls = await authority.issue({ name: 'restate' });
const silent = createLogger({ name: 'test', level: 'silent' });
const server = await startRestateServer({ ca: authority.certificate, tls: proxyTls, clientName });
const folder = await mkdtemp(join(tmpdir(), 'millrace-restate-tls-'));
const past = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
const expiredDates = { notBefore: past(48), notAfter: past(24) };

async function writePair(name: string, { certificate, key }: ClientCertificate) {
  const files = { certFile: join(folder, `${name}.crt`), keyFile: join(folder, `${name}.key`) };
  await Promise.all([writeFile(files.certFile, certificate), writeFile(files.keyFile, key)]);
  return files;
}

function open(client: ClientCertificate | null, ca = authority.certificate): RestateConnection {
  const source = client === null ? null : { latest: async () => client, recheck: () => undefined };
  const connection = createRestateConnection({ ca, client: source, log: silent });
  onTestFinished(() => connection.close());
  return connection;
}

const received = new Set<string>();
const probe = object({
  name: 'Probe',
  handlers: { record: async (ctx: ObjectContext) => void received.add(ctx.key) },
});

const envelope: Envelope = {
  cell: 1,
  mode: 'live',
  actor: { kind: 'system', id: 'test' },
  schemaVersion: 1,
  traceparent: null,
};
const call = (key: string) =>
  ({ service: 'Probe', key, handler: 'record', payload: null, idempotencyKey: key, envelope }) as const;

async function serve(name: string, tls: ClientCertificate): Promise<RestateEndpoint> {
  const loaded = { cert: tls.certificate, key: tls.key };
  return createRestateEndpoint({
    services: [probe],
    identityKeys: [server.identityPublicKey],
    port: 0,
    tls: { ...(await writePair(name, tls)), loaded, everyMs: 50 },
    log: silent,
  });
}

let endpoint: RestateEndpoint;
beforeAll(async () => {
  endpoint = await serve('endpoint', worker);
  const client = { latest: async () => worker, recheck: () => undefined };
  const connection = createRestateConnection({ ca: authority.certificate, client, log: silent });
  await registerDeployment(server.adminUrl, endpoint.url, { connection });
  await connection.close();
});
afterAll(async () => {
  await endpoint?.close();
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** Sends to ingress and admin API, and returns the reason of both rejections. */
async function rejectionOf(connection: RestateConnection, urls: { ingress?: string; admin?: string } = {}) {
  const { ingress = server.ingressUrl, admin = server.adminUrl } = urls;
  const [sent, registered] = await Promise.allSettled([
    createRestateIngress({ url: ingress, connection }).send(call('refused')),
    registerDeployment(admin, endpoint.url, { connection }),
  ]);
  const reasonOf = (result: PromiseSettledResult<unknown>): string =>
    result.status === 'rejected' && result.reason instanceof Error
      ? result.reason.message
      : expect.fail('the connection was accepted');
  expect(received).not.toContain('refused');
  return [reasonOf(sent), reasonOf(registered)];
}

describe('ingress and admin API of Restate', () => {
  it('serve a worker with its certificate, and Restate calls its handlers with TLS', async () => {
    const connection = open(worker);
    expect(endpoint.url).toMatch(/^https:/);
    await createRestateIngress({ url: server.ingressUrl, connection }).send(call('first'));
    await eventually({ what: 'the call' }, () => received.has('first'));
  });

  it('refuse a client without a certificate, as apis and gateways are', async () => {
    for (const reason of await rejectionOf(open(null)))
      expect(reason).toMatch(/MILLRACE_RESTATE_CLIENT_CERT_FILE/);
  });

  it('refuse a certificate of another authority, and an expired one', async () => {
    const other = await (await makeAuthority('another')).issue({ name: clientName });
    const expired = await authority.issue({ name: clientName, ...expiredDates });
    for (const client of [other, expired]) {
      for (const reason of await rejectionOf(open(client)))
        expect(reason).toMatch(/MILLRACE_RESTATE_CLIENT_CERT_FILE/);
    }
  });

  it('refuse a certificate of the authority with another name', async () => {
    const gateway = await authority.issue({ name: 'millrace-gateway' });
    for (const reason of await rejectionOf(open(gateway)))
      expect(reason).toMatch(/with 403: This client certificate cannot use Restate/);
  });

  it('are refused by a worker if their certificate is of another authority or has expired', async () => {
    const { certificate: ca } = await makeAuthority('another');
    for (const reason of await rejectionOf(open(worker, ca)))
      expect(reason).toMatch(/MILLRACE_ENGINE_CA_FILE has the authority/);
    await server.replaceCertificate(await authority.issue({ name: 'restate', ...expiredDates }));
    for (const reason of await rejectionOf(open(worker)))
      expect(reason).toMatch(/certificate that has expired/);
    await server.replaceCertificate(proxyTls);
  });

  it('are refused by a worker without TLS', async () => {
    const plain = server.plainAdminUrl.replace('http:', 'https:');
    for (const reason of await rejectionOf(open(worker), { ingress: plain, admin: plain }))
      expect(reason).toMatch(/Restate does not use TLS at this address/);
  });
});

describe('handlers with TLS', () => {
  it('refuse a request without a signature', async () => {
    const session = connect(endpoint.url, { ca: authority.certificate });
    onTestFinished(() => session.destroy());
    const status = await new Promise<unknown>((resolve, reject) => {
      const stream = session.request({ ':method': 'POST', ':path': '/invoke/Probe/record' });
      stream.on('response', (response) => resolve(response[constants.HTTP2_HEADER_STATUS]));
      stream.on('error', reject);
      stream.end();
    });
    expect(status).toBe(401);
  });

  it('are refused by Restate if their certificate is of another authority or has expired', async () => {
    const other = await (await makeAuthority('another')).issue({ name: 'handlers' });
    const expired = await authority.issue({ name: 'handlers', ...expiredDates });
    for (const [name, tls] of Object.entries({ other, expired })) {
      const { url, close } = await serve(name, tls);
      onTestFinished(close);
      await expect(registerDeployment(server.adminUrl, url, { connection: open(worker) })).rejects.toThrow(
        /SSL_CERT_FILE of the Restate server/,
      );
    }
  });
});

it('all certificates are replaced under load without a failed call', async () => {
  const files = await writePair('client', worker);
  const client = await openClientCertificate({ ...files, clock: systemClock, log: silent, everyMs: 50 });
  const connection = createRestateConnection({ ca: authority.certificate, client, log: silent });
  onTestFinished(() => connection.close());
  const ingress = createRestateIngress({ url: server.ingressUrl, connection, timeoutMs: 60_000 });
  let [sent, isDone] = [0, false];
  async function load(name: string): Promise<void> {
    for (let n = 0; !isDone; n += 1) {
      await ingress.send(call(`${name} ${n}`));
      sent += 1;
    }
  }
  const loads = Promise.all(['a', 'b', 'c', 'd'].map(load));
  const more = (): Promise<unknown> => {
    const before = sent;
    return Promise.race([loads, eventually({ what: 'more calls' }, () => sent > before + 50)]);
  };
  await more();
  const [nextWorker, nextProxy] = [
    await authority.issue({ name: clientName }),
    await authority.issue({ name: 'restate' }),
  ];
  await server.replaceCertificate(nextProxy);
  await more();
  await writePair('endpoint', nextWorker);
  await eventually({ what: 'the new certificate of the handlers' }, async () => {
    return (await servedFingerprint(endpoint.port)) === nextWorker.fingerprint;
  });
  await more();
  await writePair('client', nextWorker);
  await eventually({ what: 'the new client certificate' }, async () => {
    return (await client.latest()).certificate === nextWorker.certificate;
  });
  await more();
  isDone = true;
  await loads;
  const all = sent;
  await eventually(
    { what: 'all calls' },
    () => [...received].filter((key) => / \d+$/.test(key)).length === all,
  );
});
