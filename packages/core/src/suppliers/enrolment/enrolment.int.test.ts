import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { request as secureRequest } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import type { OrgId } from '@millrace/platform/ids';
import {
  createTestDatabase,
  eventually,
  makeCertificate,
  startSupplierHosts,
  type SupplierHost,
} from '@millrace/testing';
import { afterAll, expect, test } from 'vitest';
import { openEnrolmentHarness } from './enrolment.fixture.ts';
import type { Enrolment } from './enrolment.ts';

// Two real standalone daemons in network namespaces. Their addresses are private, so the guard allows them here.

const HOSTS = '198.18.0.0/15';

const [database, supplied] = await Promise.all([createTestDatabase(), startSupplierHosts(2)]);
const harness = await openEnrolmentHarness(database.db, [HOSTS]);

afterAll(async () => {
  await harness.close();
  await supplied?.[Symbol.asyncDispose]();
  await database?.drop();
});

const host = (index: number): SupplierHost => supplied.hosts[index] ?? expect.fail('There is no such host.');
const daemonOf = ({ url, serverCertificateFile }: SupplierHost) => ({
  endpoint: url,
  serverCertificate: readFileSync(serverCertificateFile, 'utf8'),
});

/** Calls the daemon over its local socket, as the owner of the host. */
function asOwner(of: SupplierHost, method: string, path: string, body?: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const call = request(
      { socketPath: of.socketPath, method, path, headers: { host: 'incus' } },
      (response) => {
        let text = '';
        response.on('data', (chunk) => (text += String(chunk)));
        response.on('end', () => resolve((JSON.parse(text) as { metadata: unknown }).metadata));
      },
    );
    call.on('error', reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function join(of: SupplierHost, orgId: OrgId, token: string, project: string): Promise<Enrolment> {
  const output = await of.join({ url: harness.url, token, name: 'box', project });
  const id = /enr_[0-9A-Z]{26}/.exec(output)?.[0] ?? expect.fail(output);
  return harness.read(orgId, id as Enrolment['id']);
}

async function outcomeOf(orgId: OrgId, { id }: Enrolment): Promise<Enrolment> {
  return eventually({ what: 'the end of the enrolment', timeoutMs: 90_000, intervalMs: 100 }, async () => {
    await harness.sweep();
    const now = await harness.read(orgId, id);
    return (now.stage === 'enrolled' || now.stage === 'refused') && now;
  });
}

test('enrolment trusts two daemons of two suppliers for one project each, inspects, tests and enrols them', async () => {
  const orgs = [await harness.newSupplier(), await harness.newSupplier()];
  const enrolled = await Promise.all(
    orgs.map(async (orgId, index) => {
      const token = await harness.newToken(orgId);
      const started = await join(host(index), orgId, token, 'millrace');
      expect(started.stage).toBe('trusting');
      const ended = await outcomeOf(orgId, started);
      // A second run of join.sh changes nothing and does not use the token again.
      expect(await join(host(index), orgId, token, 'millrace')).toEqual(ended);
      return ended;
    }),
  );
  for (const [index, machine] of enrolled.entries()) {
    expect(machine).toMatchObject({ stage: 'enrolled', problem: null, trustToken: null });
    expect(machine.tests?.gpu.count).toBe(8);
    expect(machine.tests?.hardware.gpus).toHaveLength(8);
    for (const figure of [machine.tests?.cpu, machine.tests?.memory, machine.tests?.disk]) {
      expect(figure?.mibPerSecond).toBeGreaterThan(0);
    }
    expect(machine.tests?.network.upMbps).toBeGreaterThan(0);
    expect(machine.tests?.network.downMbps).toBeGreaterThan(0);
    // The test machine is deleted, and the daemon's stored certificate is restricted.
    expect(await asOwner(host(index), 'GET', '/1.0/instances?all-projects=true')).toEqual([]);
    const certificates = await asOwner(host(index), 'GET', '/1.0/certificates?recursion=1');
    expect(certificates).toMatchObject([{ name: 'millrace', restricted: true, projects: ['millrace'] }]);
  }
  const { rows } = await readRows(
    `select offer, origin, provider_id, credential_ref, supplier_org_id is not null as supplied, settings->>'project' as project
       from clusters where origin = 'supplier'`,
  );
  expect(rows).toEqual(
    Array(2).fill({
      offer: 'marketplace',
      origin: 'supplier',
      provider_id: 'marketplace',
      credential_ref: 'suppliers',
      supplied: true,
      project: 'millrace',
    }),
  );

  await expectNothingElseSeen(host(0));
  await expectJoinedOnce(orgs[1] ?? expect.fail('two suppliers'));
});

async function readRows(text: string) {
  return database.query(text);
}

/** The supplier's certificate neither sees nor changes other projects or the daemon itself. */
async function expectNothingElseSeen(of: SupplierHost): Promise<void> {
  await asOwner(of, 'POST', '/1.0/projects', { name: 'private', config: {} });
  const devices = { root: { type: 'disk', path: '/', pool: 'default' } };
  const source = { type: 'none' };
  const instance = { name: 'mine', source, devices };
  await asOwner(of, 'POST', '/1.0/instances?project=private', instance);
  const questions: readonly (readonly [string, string, object?])[] = [
    ['GET', '/1.0/instances?project=private'],
    ['GET', '/1.0/instances/mine?project=private'],
    ['PUT', '/1.0/instances/mine/state?project=private', { action: 'start' }],
    ['DELETE', '/1.0/instances/mine?project=private'],
    ['GET', '/1.0/projects/private'],
    ['GET', '/1.0/projects/default'],
    ['POST', '/1.0/instances?project=default', instance],
    ['POST', '/1.0/projects', { name: 'ours', config: {} }],
    ['PATCH', '/1.0/projects/millrace', { config: { restricted: 'false' } }],
    ['PATCH', '/1.0', { config: { 'core.https_address': '' } }],
  ];
  for (const [method, path, body] of questions) {
    expect((await sendTo(of, method, path, body)).type, `${method} ${path}`).toBe('error');
  }
  // The certificate is not refused everywhere: it sees its own project.
  expect(await sendTo(of, 'GET', '/1.0/instances?project=millrace')).toMatchObject({ type: 'sync' });
  expect(await sendTo(of, 'GET', '/1.0/instances?all-projects=true')).toMatchObject({ metadata: [] });
  expect(await asOwner(of, 'GET', '/1.0/instances?project=private')).toHaveLength(1);
}

/** Calls the daemon with the certificate that it trusts. */
function sendTo(of: SupplierHost, method: string, path: string, body?: object): Promise<{ type: string }> {
  const { hostname, port } = new URL(of.url);
  const tls = {
    ...harness.client,
    ca: readFileSync(of.serverCertificateFile),
    checkServerIdentity: () => undefined,
  };
  return new Promise((resolve, reject) => {
    const call = secureRequest({ host: hostname, port, method, path, ...tls }, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += String(chunk)));
      response.on('end', () => resolve(JSON.parse(text) as { type: string }));
    });
    call.on('error', reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Another supplier that knows the address and certificate of a daemon cannot take it over. */
async function expectJoinedOnce(outsider: OrgId): Promise<void> {
  const [mine] = harness.joinRequests;
  const token = await harness.newToken(outsider);
  const request = { ...(mine ?? expect.fail('nothing was asked')), token };
  await expect(harness.start(request)).rejects.toMatchObject({ reason: 'MACHINE_JOINED_ALREADY' });
  await expect(
    harness.start({ ...request, endpoint: 'https://other.example.com:8443' }),
  ).rejects.toMatchObject({
    reason: 'MACHINE_JOINED_ALREADY',
  });
  const { rows } = await readRows(
    `select count(*)::int as used from supplier_join_tokens where used_machines > 0`,
  );
  expect(rows).toEqual([{ used: 2 }]);
}

test('enrolment refuses full trust with the reason and removes its certificate', async () => {
  const orgId = await harness.newSupplier();
  // The owner runs join.sh for one project, but had given our certificate full trust before.
  await freeHost(1);
  const certificate = ownCertificate();
  await asOwner(host(1), 'POST', '/1.0/certificates', { type: 'client', name: 'all', certificate });
  const refused = await outcomeOf(orgId, await join(host(1), orgId, await harness.newToken(orgId), 'second'));
  expect(refused).toMatchObject({ stage: 'refused', clusterId: null, trustToken: null });
  expect(refused.problem).toContain('access to the whole host');
  expect(await asOwner(host(1), 'GET', '/1.0/certificates')).toEqual([]);
});

test('enrolment refuses a trusted daemon for another supplier that only knows its address', async () => {
  const [victim, attacker] = [await harness.newSupplier(), await harness.newSupplier()];
  await freeHost(1);
  const mine = await join(host(1), victim, await harness.newToken(victim), 'third');
  // The token was redeemed and the worker crashed before recording it; then the owner withdrew the machine.
  const trust = await harness.reach(daemonOf(host(1)));
  await trust.redeem(harness.joinRequests[0]?.incusToken ?? '', AbortSignal.timeout(300_000));
  await trust.close();
  await readRows(`update supplier_machines set stage = 'refused', trust_token = null, next_try_at = null,
                  deadline_at = null where id = (select id from supplier_machines order by id desc limit 1)`);
  const stolen = await harness.start({
    ...(harness.joinRequests[0] ?? expect.fail('nothing was asked')),
    token: await harness.newToken(attacker),
  });
  const refused = await outcomeOf(attacker, stolen);
  expect(refused.problem).toContain('does not name the join token');
  expect(mine.id).not.toBe(stolen.id);
});

test('enrolment never connects to an internal address and refuses it after the deadline', async () => {
  const orgId = await harness.newSupplier();
  let connections = 0;
  const inside = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  inside.listen(0, '127.0.0.1');
  await once(inside, 'listening');
  const { certificate, fingerprint } = await makeCertificate('inside');
  const incusToken = Buffer.from(JSON.stringify({ fingerprint, secret: 'x' })).toString('base64');
  const { port } = inside.address() as AddressInfo;
  const token = await harness.newToken(orgId);
  const request = { token, incusToken, name: 'inside', serverCertificate: certificate };
  const started = await harness.start({ ...request, endpoint: `https://localhost:${port}` });
  await harness.sweep();
  const tried = await harness.read(orgId, started.id);
  expect(tried).toMatchObject({ stage: 'trusting', tries: 1 });
  expect(tried.problem).toContain('is not on the public internet');
  expect(tried.trustToken).not.toContain(incusToken);
  // Repeating the request continues the same enrolment and does not use the token again.
  expect((await harness.start({ ...request, endpoint: `https://LOCALHOST:${port}/` })).id).toBe(started.id);
  await readRows(`update supplier_machines set deadline_at = joined_at where stage = 'trusting'`);
  const refused = await outcomeOf(orgId, started);
  expect(refused).toMatchObject({ stage: 'refused', trustToken: null });
  expect(refused.problem).toContain('Enrolment timed out');
  expect(connections).toBe(0);
  inside.close();
});

/** Removes all traces of an earlier enrolment here and on the host, as its owner would. */
async function freeHost(index: number): Promise<void> {
  const urls = (await asOwner(host(index), 'GET', '/1.0/certificates')) as readonly string[];
  for (const url of urls) await asOwner(host(index), 'DELETE', url);
  await readRows(`update supplier_machines set stage = 'withdrawn', withdrawn_at = now(), next_try_at = null,
                  deadline_at = null, trust_token = null where endpoint = '${host(index).url}' and stage <> 'refused'`);
  await readRows(
    `update clusters set status = 'removed', removed_at = now() where endpoint = '${host(index).url}'`,
  );
}

/** Our certificate in the form in which owners add it to a daemon. */
function ownCertificate(): string {
  return harness.client.cert
    .split('\n')
    .filter((line) => !line.startsWith('-----'))
    .join('');
}
