import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { systemClock } from '@millrace/platform/clock';
import { eventually, makeAuthority, makeCertificate } from '@millrace/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AcceptedClients } from './accepted-clients.ts';
import { neverAborted, openCertificateHarness, type CertificateHarness } from './certificates.fixture.ts';

// Real TLS between the client of workers and the server of the agent.

// Certificates that follow each other usually have the same name.
const [agent, worker] = await Promise.all([makeCertificate('agent'), makeCertificate('worker')]);
const [nextAgent, nextWorker] = await Promise.all([makeCertificate('agent'), makeCertificate('worker')]);
const both = (...pairs: readonly { readonly certificate: string }[]): string =>
  pairs.map(({ certificate }) => certificate).join('');

async function open(changes: Partial<Parameters<typeof openCertificateHarness>[0]> = {}) {
  const files = { agent, worker, acceptedClients: worker.certificate, pinned: agent.certificate };
  const harness = await openCertificateHarness({ ...files, ...changes });
  onTestFinished(() => harness[Symbol.asyncDispose]());
  return harness;
}

async function expired() {
  const past = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
  return (await makeAuthority()).issue({ name: 'old', notBefore: past(48), notAfter: past(24) });
}

async function failureOf(harness: CertificateHarness): Promise<unknown> {
  const backend = await harness.connect();
  return backend.list(neverAborted).then(
    () => 'accepted',
    (error: unknown) => error,
  );
}

/** Two workers that call the agent every few milliseconds until `stop`. */
async function startLoad(harness: CertificateHarness) {
  const backends = await Promise.all([harness.connect(), harness.connect()]);
  const failures: string[] = [];
  let isStopped = false;
  // Four calls at once on each backend, so that connections are also opened in between.
  const callers = backends.flatMap((backend) => [1, 2, 3, 4].map(() => ({ backend, calls: 0 })));
  const running = callers.map(async (caller) => {
    while (!isStopped) {
      await caller.backend.list(neverAborted).catch((error: unknown) => failures.push(String(error)));
      caller.calls += 1;
      await systemClock.sleep(3);
    }
  });
  return {
    /** Waits until each caller has ended its call and then made this many. */
    pass: async (count: number): Promise<void> => {
      const enough = callers.map((caller) => ({ caller, calls: caller.calls + 1 + count }));
      await eventually({ what: 'the calls' }, () =>
        enough.every(({ caller, calls }) => caller.calls >= calls),
      );
    },
    stop: async (): Promise<readonly string[]> => {
      isStopped = true;
      await Promise.all(running);
      return failures;
    },
  };
}

describe('storage agent', () => {
  it('has no failed call while the certificates of both sides are replaced', async () => {
    const harness = await open();
    const load = await startLoad(harness);
    const pairs = [agent, nextAgent, agent, nextAgent];
    const clients = [worker, nextWorker, worker, nextWorker];
    for (let round = 1; round < pairs.length; round += 1) {
      const [earlier = agent, next = agent] = pairs.slice(round - 1);
      await harness.write({ pinned: both(earlier, next) });
      await harness.logged('credential reloaded', 2);
      await harness.write({ agent: next });
      await harness.logged('TLS certificate reloaded');
      await harness.write({ pinned: next.certificate });
      await harness.logged('credential reloaded', 2);

      const [earlierClient = worker, nextClient = worker] = clients.slice(round - 1);
      await harness.write({ acceptedClients: both(earlierClient, nextClient) });
      await harness.logged('client certificates reloaded');
      await harness.write({ worker: nextClient });
      await harness.logged('credential reloaded', 2);
      await load.pass(1);
      await harness.write({ acceptedClients: nextClient.certificate });
      await harness.logged('client certificates reloaded');
    }
    await load.pass(20);
    expect(await load.stop()).toEqual([]);

    // The earlier certificates are not accepted any more.
    await harness.write({ pinned: agent.certificate });
    expect(await failureOf(harness)).toMatchObject({ message: expect.stringContaining('is not accepted') });
    await harness.write({ pinned: nextAgent.certificate, worker });
    expect(await failureOf(harness)).toMatchObject({ kind: 'unavailable' });
    expect(harness.log()).not.toContain('PRIVATE KEY');
  });

  it('refuses further requests of a removed client on its open connections, without failing its volumes', async () => {
    const harness = await open({ acceptedClients: both(worker, nextWorker) });
    const backend = await harness.connect();
    expect(await backend.list(neverAborted)).toEqual([]);
    await harness.write({ acceptedClients: nextWorker.certificate });
    await harness.logged('client certificates reloaded');
    await expect(backend.list(neverAborted)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/is not in MILLRACE_STORAGE_CLIENT_CERTS_FILE; add it/),
    });
  });

  it('keeps the earlier list of clients while its file contains no certificate', async () => {
    const harness = await open();
    await harness.write({ acceptedClients: '' });
    await harness.logged('contains no PEM certificate');
    expect(await failureOf(harness)).toBe('accepted');
  });

  it('uses a corrected pin at the next call after a refusal', async () => {
    const harness = await open({ pinned: nextAgent.certificate });
    const backend = await harness.connect();
    await expect(backend.list(neverAborted)).rejects.toMatchObject({ kind: 'unavailable' });
    await harness.write({ pinned: agent.certificate });
    expect(await backend.list(neverAborted)).toEqual([]);
  });
});

describe('a connection to a storage agent', () => {
  const clientAdvice = /put the certificateFile of its credential into MILLRACE_STORAGE_CLIENT_CERTS_FILE/;

  it('is refused with a client certificate that the agent does not know', async () => {
    const harness = await open({ worker: nextWorker });
    const failure = await failureOf(harness);
    expect(failure).toMatchObject({ kind: 'unavailable', message: expect.stringMatching(clientAdvice) });
    await harness.logged('is not in MILLRACE_STORAGE_CLIENT_CERTS_FILE');
    expect(`${String(failure)} ${harness.log()}`).not.toMatch(/BEGIN|PRIVATE/);
  });

  it('is refused with a client certificate that a known one issued', async () => {
    const authority = await makeAuthority();
    const issued = await authority.issue({ name: 'worker' });
    const harness = await open({ worker: issued, acceptedClients: authority.certificate });
    expect(await failureOf(harness)).toMatchObject({ kind: 'unavailable' });
  });

  it('is refused with an expired client certificate', async () => {
    const old = await expired();
    const harness = await open({ worker: old, acceptedClients: old.certificate });
    expect(await failureOf(harness)).toMatchObject({ message: expect.stringMatching(clientAdvice) });
    await harness.logged('has expired; replace it on the workers');
  });

  it('is refused if the certificate of the agent has expired', async () => {
    const old = await expired();
    const harness = await open({ agent: old, pinned: old.certificate });
    expect(await failureOf(harness)).toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/certificate that has expired \(CERT_HAS_EXPIRED\)\. Replace it/),
    });
  });

  it('is refused if the agent presents a certificate that is not pinned', async () => {
    const harness = await open({ pinned: nextAgent.certificate });
    expect(await failureOf(harness)).toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/Put its certificate into the serverCertificateFile of its credential/),
    });
  });

  it('is refused if the agent does not use TLS', async () => {
    const harness = await open();
    const plain = createServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
    plain.listen(0, '127.0.0.1');
    await once(plain, 'listening');
    onTestFinished(() => void plain.close());
    const backend = await harness.connect(`https://127.0.0.1:${(plain.address() as AddressInfo).port}`);
    await expect(backend.list(neverAborted)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/does not use TLS at this address/),
    });
  });
});

it('AcceptedClients refuses a certificate before and after its validity', async () => {
  const { certificate } = await makeCertificate('worker');
  const now = { ms: Date.now() };
  const clients = new AcceptedClients(certificate, { nowMs: () => now.ms });
  const { fingerprint256 } = new X509Certificate(certificate);
  expect(clients.rejectionOf(fingerprint256)).toBeNull();
  now.ms += 4 * 86_400_000;
  expect(clients.rejectionOf(fingerprint256)).toContain('has expired');
  now.ms -= 8 * 86_400_000;
  expect(clients.rejectionOf(fingerprint256)).toContain('is not yet valid');
  expect(clients.rejectionOf(undefined)).toContain('has no certificate');
});
