import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from 'node:tls';
import { systemClock } from '@millrace/platform/clock';
import { down, ensureUp, type IncusHostEndpoints } from '@millrace/services';
import {
  eventually,
  makeAuthority,
  makeCertificate,
  type Authority,
  type TestCertificate,
} from '@millrace/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { IncusClient } from './api/incus-client.ts';
import { failureOf, openIncusCertificates, startLoad, type Pair } from './incus-certificates.fixture.ts';
import { retryOnStall } from './incus-stalls.fixture.ts';

// A real daemon of its own, because the test makes it a cluster: only clusters replace their certificate while they run.

/** On a host that stalls, a daemon fails for reasons that do not depend on certificates. */
const hostStalled = /context deadline exceeded|no answer within|connect timeout|leader|raft/i;

const folder = mkdtempSync(path.join(tmpdir(), 'mr-'));
const stateDir = path.join(folder, 's');
let daemon: IncusHostEndpoints;
let owner: IncusClient;

beforeAll(async () => {
  chmodSync(folder, 0o755);
  const { incusHost } = await ensureUp(['incus-host'], {
    stateDir,
    portBase: 'auto',
    databaseInMemory: true,
  });
  if (incusHost === undefined) throw new Error('The host is up, but has no endpoints.');
  daemon = incusHost;
  owner = new IncusClient({ socketPath: daemon.socketPath }, systemClock);
  await retryOnStall((signal) => {
    const body = { server_name: 'one', enabled: true };
    return owner.write({ what: 'become a cluster', method: 'PUT', path: '/1.0/cluster', body }, signal);
  });
});

afterAll(async () => {
  await owner.close();
  await down([], { stateDir, purge: true });
  rmSync(folder, { recursive: true, force: true });
});

async function trust({ certificate }: Pick<TestCertificate, 'certificate'>): Promise<void> {
  const body = {
    ...{ type: 'client', name: 'millrace' },
    certificate: new X509Certificate(certificate).raw.toString('base64'),
  };
  await retryOnStall((signal) =>
    owner.write({ what: 'trust a certificate', method: 'POST', path: '/1.0/certificates', body }, signal),
  );
}

async function distrust({ fingerprint }: TestCertificate): Promise<void> {
  await retryOnStall((signal) =>
    owner.write(
      { what: 'remove a certificate', method: 'DELETE', path: `/1.0/certificates/${fingerprint}` },
      signal,
    ),
  );
}

async function shownFingerprint(): Promise<string> {
  const { hostname: host, port } = new URL(daemon.url);
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256.replaceAll(':', '').toLowerCase();
}

it('Incus driver has no failed call while the certificates of client and cluster are replaced', async () => {
  const [client, nextClient, nextServer] = await Promise.all([
    makeCertificate('millrace'),
    makeCertificate('millrace'),
    makeCertificate('incus'),
  ]);
  const pinned = readFileSync(path.join(path.dirname(daemon.socketPath), 'cluster.crt'), 'utf8');
  await trust(client);
  const harness = await openIncusCertificates(daemon.url, { client, pinned });
  onTestFinished(() => harness[Symbol.asyncDispose]());
  const load = await startLoad(harness);
  await load.pass(1);

  await trust(nextClient);
  await harness.write({ client: nextClient });
  await harness.reloaded(2);
  await load.pass(1);
  await distrust(client);
  await load.pass(5);

  await harness.write({ pinned: pinned + nextServer.certificate });
  await harness.reloaded(2);
  const body = { cluster_certificate: nextServer.certificate, cluster_certificate_key: nextServer.key };
  await retryOnStall((signal) =>
    owner.write(
      { what: 'replace its certificate', method: 'PUT', path: '/1.0/cluster/certificate', body },
      signal,
    ),
  );
  await eventually({ what: 'the new certificate' }, async () => {
    return (await shownFingerprint()) === nextServer.fingerprint;
  });
  await load.pass(5);
  await harness.write({ pinned: nextServer.certificate });
  await harness.reloaded(2);
  await load.pass(5);
  expect((await load.stop()).filter((failure) => !hostStalled.test(failure))).toEqual([]);

  // The earlier certificates are not accepted any more.
  await harness.write({ client });
  expect(await failureOf(await harness.connect())).toMatchObject({
    message: expect.stringMatching(/does not trust the client certificate.*incus config trust add-cert/),
  });
  await harness.write({ client: nextClient, pinned });
  expect(await failureOf(await harness.connect())).toMatchObject({ kind: 'unavailable' });
});

const inMs = (ms: number): Date => new Date(Date.now() + ms);

/** The shortest validity with which this machine is fast enough to add a certificate. */
async function trustExpiring(authority: Authority): Promise<Pair> {
  for (let validMs = 5_000; ; validMs *= 2) {
    const issued = await authority.issue({ name: 'millrace', notAfter: inMs(validMs) });
    try {
      await trust(issued);
      return issued;
    } catch (error) {
      if (!String(error).includes('certificate is expired')) throw error;
    }
  }
}

it('Incus refuses a client certificate that expires while it is in use, and does not trust an expired one', async () => {
  const authority = await makeAuthority();
  const pinned = readFileSync(path.join(path.dirname(daemon.socketPath), 'cluster.crt'), 'utf8');
  const harness = await openIncusCertificates(daemon.url, { client: await trustExpiring(authority), pinned });
  onTestFinished(() => harness[Symbol.asyncDispose]());
  const driver = await harness.connect();
  const refused = await eventually({ what: 'the end of the validity' }, async () => {
    const failure = await failureOf(driver);
    return failure instanceof Error && !hostStalled.test(failure.message) ? failure : undefined;
  });
  expect(refused.message).toMatch(/does not trust the client certificate.*or the certificate has expired/);

  const notBefore = inMs(-48 * 3_600_000);
  const expired = await authority.issue({ name: 'millrace', notBefore, notAfter: inMs(-24 * 3_600_000) });
  await expect(trust(expired)).rejects.toThrow(/certificate is expired/);
});
