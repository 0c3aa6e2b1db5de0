import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectDriver, connectTrust } from '@millrace/compute/connect';
import type { Clock, SimulatedClock } from '@millrace/platform/clock';
import { createDb, type Db } from '@millrace/platform/db';
import { createIdSource, toUuid, type OrgId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { createNetGuard, type NetGuard } from '@millrace/platform/net';
import { createSealer } from '@millrace/platform/secrets';
import {
  impossibleHardware,
  createTenant,
  createTestDatabase,
  hybridClock,
  makeCertificate,
  longDbTimeouts,
  insertMarketplaceProvider,
  insertSupplier,
  startHostileIncus,
  testClock,
  testIds,
  unusableResponses,
  type HostileIncus,
  type Misbehaviour,
  type TestCertificate,
  type TestDatabase,
  failingLoop,
  type ItemPoison,
} from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDriverPool, FleetSync, type DriverPool } from '../fleet/index.ts';
import { systemAuditContext } from '../identity/index.ts';
import type { Enrolment } from './enrolment/enrolment.ts';
import {
  advanceEnrolment,
  JOINING_MACHINES_MAX,
  startEnrolment,
  claimEnrolments,
  type EnrolmentDeps,
  type JoinRequest,
} from './enrolment/enrolment.service.ts';
import { findEnrolment } from './enrolment/enrolment.store.ts';
import { EnrolmentSweep } from './enrolment/enrolment.sweep.ts';

/** Tests enrolment with doubles of hostile daemons; everything else is real. */

const REGION = 'us-central-1';
const MINUTE_MS = 60_000;
/** Divides the time limits of calls to daemons that do not respond, so that tests do not wait 15 seconds for each. */
const TIME_DIVISOR = 25;

let database: TestDatabase;
let db: Db;
let clock: SimulatedClock;
let own: TestCertificate;
let folder: string;
let drivers: DriverPool;
let sync: FleetSync;
let deps: EnrolmentDeps;
let sweeper: EnrolmentSweep;
const log = createLogger({ name: 'enrolment', level: 'silent' });
const sealer = createSealer({ keys: [{ id: 'k1', key: randomBytes(32) }], activeId: 'k1' });
const daemons: HostileIncus[] = [];

function hurried(of: Clock, divisor: number): Clock {
  return { ...of, after: (ms, action) => of.after(Math.ceil(ms / divisor), action) };
}

function depsWith(guard: NetGuard, divisor = 1): EnrolmentDeps {
  const credentials = {
    suppliers: {
      certificateFile: join(folder, 'client.crt'),
      keyFile: join(folder, 'client.key'),
      serverCertificateFile: null,
    },
  };
  const real = hurried(hybridClock(clock), divisor);
  drivers = createDriverPool({
    db,
    log,
    connect: (cluster) =>
      connectDriver(cluster, { db, clock: real, log, credentials, guard, opensPorts: false }),
  });
  return {
    db,
    clock: hybridClock(clock),
    log,
    sealer,
    guard,
    drivers: drivers.of.bind(drivers),
    trust: (daemon) => connectTrust(daemon, { clock: real, guard, credentials, credentialRef: 'suppliers' }),
    providerId: 'marketplace',
    credentialRef: 'suppliers',
  };
}

beforeAll(async () => {
  database = await createTestDatabase();
  clock = testClock();
  const ids = createIdSource({ clock, cell: 1 });
  db = createDb({ ...longDbTimeouts, url: database.url, poolSize: 8, clock: hybridClock(clock), ids, log });
  own = await makeCertificate('millrace');
  folder = mkdtempSync(join(tmpdir(), 'mr-'));
  writeFileSync(join(folder, 'client.crt'), own.certificate);
  writeFileSync(join(folder, 'client.key'), own.key, { mode: 0o600 });
  await insertMarketplaceProvider(db, REGION);
});
afterAll(async () => {
  await db.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});
function useTimeLimits({ divisor, readTimeoutMs }: { divisor: number; readTimeoutMs: number }): void {
  deps = depsWith(createNetGuard({ allowedNetworks: ['127.0.0.0/8'] }), divisor);
  sweeper = new EnrolmentSweep(deps);
  const tuning = { readTimeoutMs };
  sync = new FleetSync({ db, clock: hybridClock(clock), log, holder: 'test', drivers, tuning });
}
beforeEach(() => {
  // The production time limits, because an honest daemon may be slow on a slow machine.
  useTimeLimits({ divisor: 1, readTimeoutMs: 60_000 });
});
afterEach(async () => {
  await sync.stop();
  await drivers.close();
  await Promise.all(daemons.splice(0).map((daemon) => daemon[Symbol.asyncDispose]()));
  // No enrolment of one test must be due in another.
  await clock.advance(24 * 60 * MINUTE_MS);
  await sweep();
});

async function newDaemon(): Promise<HostileIncus> {
  const daemon = await startHostileIncus({
    name: `host-${daemons.length}-${randomBytes(3).toString('hex')}`,
  });
  daemons.push(daemon);
  return daemon;
}

async function newSupplier(): Promise<OrgId> {
  const { orgId } = await createTenant(database.db);
  await insertSupplier(db, { orgId });
  return orgId;
}

async function newToken(orgId: OrgId): Promise<string> {
  const token = `mrj_${randomBytes(32).toString('hex')}`;
  const hash = createHash('sha256').update(token).digest();
  const now = clock.now();
  await sql`
    insert into supplier_join_tokens (id, supplier_id, org_id, description, cluster_name, region, max_machines,
      secret_hash, expires_at, created_by, created_at)
    select ${toUuid(testIds.next('jtk'))}, supplier.id, supplier.org_id, '', 'barn', ${REGION}, 1000, ${hash},
           ${new Date(now.getTime() + 60 * MINUTE_MS)}, member.user_id, ${now}
      from suppliers as supplier join members as member on member.org_id = supplier.org_id
     where supplier.org_id = ${toUuid(orgId)} limit 1`.execute(db.kysely);
  return token;
}

/** Sends the same request as join.sh. */
function joinWith(
  daemon: HostileIncus,
  token: string,
  request: Partial<JoinRequest> = {},
): Promise<Enrolment> {
  daemon.fake.projectConfig['user.millrace.join'] = createHash('sha256').update(token).digest('hex');
  const joinRequest = {
    token,
    incusToken: daemon.trustToken(),
    endpoint: daemon.url,
    name: 'box',
    serverCertificate: daemon.certificate.certificate,
    ...request,
  };
  return db.transaction({ name: 'start enrolment', isolation: 'read committed' }, (tx) =>
    startEnrolment(tx, { sealer, cause: systemAuditContext('test', 'live') }, joinRequest),
  );
}

async function sweep(): Promise<void> {
  await sweeper.sweep();
  await sweeper.settled();
}

async function now({ orgId, id }: Enrolment): Promise<Enrolment> {
  return (await findEnrolment(db, orgId, id)) ?? expect.fail('The enrolment does not exist.');
}

/** Retries until the deadline has passed. */
async function giveUpOn(enrolment: Enrolment): Promise<Enrolment> {
  await sweep();
  await clock.advance(16 * MINUTE_MS);
  await sweep();
  return now(enrolment);
}

const clustersOf = async (orgId: OrgId): Promise<readonly string[]> => {
  const { rows } = await sql<{ status: string }>`
    select status from clusters where supplier_org_id = ${toUuid(orgId)}`.execute(db.kysely);
  return rows.map(({ status }) => status);
};

it('an honest daemon double is trusted and inspected, so later tests fail only because of the misbehaviour', async () => {
  const [orgId, daemon] = [await newSupplier(), await newDaemon()];
  const enrolment = await joinWith(daemon, await newToken(orgId));
  await sweep();
  expect(await now(enrolment)).toMatchObject({ stage: 'inspecting', problem: null, trustToken: null });
  await sync.tick();
  const { clusterId } = await now(enrolment);
  await sync.look(clusterId ?? expect.fail('The enrolment has no cluster.'));
  await clock.advance(MINUTE_MS);
  await sweep();
  expect(await now(enrolment)).toMatchObject({ stage: 'testing' });
});

describe.each(Object.entries<Misbehaviour>(unusableResponses))(
  'a daemon that responds with %s',
  (_, flaw) => {
    it('is refused with a text after the deadline, leaves no secret stored, and can ask again', async () => {
      useTimeLimits({ divisor: TIME_DIVISOR, readTimeoutMs: 600 });
      const [orgId, daemon] = [await newSupplier(), await newDaemon()];
      const token = await newToken(orgId);
      const enrolment = await joinWith(daemon, token);
      daemon.misbehaviour = flaw;
      await sweep();
      const waiting = await now(enrolment);
      expect(waiting.stage).toBe('trusting');
      expect(waiting.problem).not.toMatch(/[\u0000-\u001f]/);
      expect((waiting.problem ?? '').length).toBeGreaterThan(0);
      const refused = await giveUpOn(enrolment);
      expect(refused).toMatchObject({ stage: 'refused', trustToken: null });
      expect((refused.problem ?? '').length).toBeLessThanOrEqual(1_000);
      expect(await clustersOf(orgId)).toEqual([]);
      // From here on the daemon is honest but may be slow.
      await drivers.close();
      useTimeLimits({ divisor: 1, readTimeoutMs: 60_000 });
      daemon.misbehaviour = null;
      const again = await joinWith(daemon, token);
      expect(again.id).not.toBe(enrolment.id);
      await sweep();
      expect((await now(again)).stage).toBe('inspecting');
    });
  },
);

it.each(Object.entries<Misbehaviour>(impossibleHardware))(
  'a daemon that reports %s is neither tested nor enrolled',
  async (_, flaw) => {
    const [orgId, daemon] = [await newSupplier(), await newDaemon()];
    const enrolment = await joinWith(daemon, await newToken(orgId));
    await sweep();
    daemon.misbehaviour = flaw;
    await sync.tick();
    await sync.look((await now(enrolment)).clusterId ?? expect.fail('The enrolment has no cluster.'));
    const refused = await giveUpOn(enrolment);
    expect(refused.stage).toBe('refused');
    expect(await clustersOf(orgId)).toEqual(['removed']);
  },
);

describe('a daemon that trusts us with more than one project', () => {
  it('is refused when it reports full trust, and our certificate is removed from it', async () => {
    const [orgId, daemon] = [await newSupplier(), await newDaemon()];
    const incusToken = daemon.trustToken({ restricted: false });
    const enrolment = await joinWith(daemon, await newToken(orgId), { incusToken });
    await sweep();
    const refused = await now(enrolment);
    expect(refused).toMatchObject({ stage: 'refused', trustToken: null });
    expect(refused.problem).toContain('access to the whole host');
    expect(daemon.fake.trusted.size).toBe(0);
    expect(await clustersOf(orgId)).toEqual([]);
  });

  it('is refused when it denies full trust but shows other projects', async () => {
    const [orgId, daemon] = [await newSupplier(), await newDaemon()];
    const enrolment = await joinWith(daemon, await newToken(orgId));
    const others = [{ name: 'web', project: 'default', status: 'Running', status_code: 103 }];
    daemon.misbehaviour = (request) =>
      request.path === '/1.0/instances' && request.query.get('all-projects') === 'true'
        ? { do: 'answer', response: { status: 200, body: { type: 'sync', metadata: others } } }
        : null;
    await sweep();
    expect(await now(enrolment)).toMatchObject({ stage: 'refused' });
  });
});

it('an enrolment whose outcome cannot be stored is still refused after the deadline', async () => {
  const [orgId, daemon] = [await newSupplier(), await newDaemon()];
  const enrolment = await joinWith(daemon, await newToken(orgId));
  // As if an invalid text had passed all checks.
  sweeper = new EnrolmentSweep({ ...deps, credentialRef: 'a\u0000b' });
  expect(await giveUpOn(enrolment)).toMatchObject({ stage: 'refused', trustToken: null });
  expect(await clustersOf(orgId)).toEqual([]);
});

it('a daemon whose project does not name the join token is refused', async () => {
  const [orgId, daemon] = [await newSupplier(), await newDaemon()];
  const enrolment = await joinWith(daemon, await newToken(orgId));
  daemon.fake.projectConfig['user.millrace.join'] = 'f'.repeat(64);
  await sweep();
  expect((await now(enrolment)).problem).toContain('does not name the join token');
});

it('a daemon with another certificate than announced receives no request', async () => {
  const [orgId, daemon] = [await newSupplier(), await newDaemon()];
  const enrolment = await joinWith(daemon, await newToken(orgId));
  await daemon.showOtherCertificate();
  await sweep();
  expect(daemon.requests).toEqual([]);
  expect(await now(enrolment)).toMatchObject({ stage: 'trusting' });
});

it('a trust token of one daemon with the certificate of another is refused', async () => {
  const [orgId, one, other] = [await newSupplier(), await newDaemon(), await newDaemon()];
  const token = await newToken(orgId);
  const mixed = joinWith(one, token, { serverCertificate: other.certificate.certificate });
  await expect(mixed).rejects.toMatchObject({ reason: 'VALIDATION_FAILED' });
});

it('a daemon at an internal address is never connected to', async () => {
  await drivers.close();
  deps = depsWith(createNetGuard({ allowedNetworks: [] }));
  sweeper = new EnrolmentSweep(deps);
  const [orgId, daemon] = [await newSupplier(), await newDaemon()];
  const enrolment = await joinWith(daemon, await newToken(orgId));
  const refused = await giveUpOn(enrolment);
  expect(daemon.requests).toEqual([]);
  expect(refused.stage).toBe('refused');
});

/** Ends all enrolments of a supplier, so that later tests do not process them. */
async function refuseAll(orgId: OrgId): Promise<void> {
  await sql`update supplier_machines set stage = 'refused', next_try_at = null, deadline_at = null, trust_token = null
    where org_id = ${toUuid(orgId)}`.execute(db.kysely);
}

describe(failingLoop('enrol machines'), () => {
  it.each<ItemPoison>(['throws', 'hangs'])(
    'a supplier whose daemon %s delays no other supplier',
    async (how) => {
      // Long enough for an honest daemon on a slow machine; the test waits for the silent ones at the end.
      useTimeLimits({ divisor: 2, readTimeoutMs: 60_000 });
      const [hostileOrg, otherOrg] = [await newSupplier(), await newSupplier()];
      const token = await newToken(hostileOrg);
      for (let index = 0; index < 6; index += 1) {
        const daemon = await newDaemon();
        daemon.misbehaviour =
          how === 'hangs' ? unusableResponses.silence : unusableResponses['a connection that breaks'];
        await joinWith(daemon, token);
      }
      const few = new EnrolmentSweep(deps, { slots: 4, perSupplier: 2 });
      const valid = await joinWith(await newDaemon(), await newToken(otherOrg));
      // The first enrolments are processed first, and still leave slots for others.
      expect(await few.sweep()).toBe(3);
      await few.sweep();
      await expect.poll(async () => (await now(valid)).stage).toBe('inspecting');
      await few.settled();
      await refuseAll(hostileOrg);
    },
  );
});

it('a supplier has at most JOINING_MACHINES_MAX joining machines under concurrent requests', async () => {
  const orgId = await newSupplier();
  const token = await newToken(orgId);
  const daemon = await newDaemon();
  const first = await joinWith(daemon, token);
  // Rows of other daemons that also wait.
  await sql`
    insert into supplier_machines (id, supplier_id, org_id, join_token_id, name, cluster_name, region, endpoint,
      server_certificate, server_fingerprint, stage, next_try_at, deadline_at, joined_at)
    select gen_random_uuid(), supplier_id, org_id, join_token_id, name, cluster_name, region, 'https://' || nth || '.example',
           server_certificate, lpad(to_hex(nth), 64, '0'), 'trusting', next_try_at + interval '1 year',
           deadline_at + interval '1 year', joined_at
      from supplier_machines, generate_series(1, ${JOINING_MACHINES_MAX - 2}::int) as nth where id = ${toUuid(first.id)}
  `.execute(db.kysely);
  const others = await Promise.all([newDaemon(), newDaemon(), newDaemon()]);
  const outcomes = await Promise.allSettled(others.map((other) => joinWith(other, token)));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const refused = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
  );
  for (const reason of refused) expect(reason).toMatchObject({ reason: 'MACHINE_LIMIT_REACHED' });
  await refuseAll(orgId);
});

it('a daemon that others named first can still be joined by its owner', async () => {
  const [outsider, owner, daemon] = [await newSupplier(), await newSupplier(), await newDaemon()];
  const token = await newToken(outsider);
  // Neither certificate is served at these addresses.
  const byCertificate = await joinWith(daemon, token, { endpoint: 'https://127.0.0.2:1' });
  const byAddress = await joinWith(await newDaemon(), token, { endpoint: daemon.url });
  const own = await joinWith(daemon, await newToken(owner));
  await sweep();
  const stages = [await now(byCertificate), await now(byAddress), await now(own)].map(({ stage }) => stage);
  expect(stages).toEqual(['trusting', 'trusting', 'inspecting']);
  await expect(joinWith(daemon, token)).rejects.toMatchObject({ reason: 'MACHINE_JOINED_ALREADY' });
  // Even if the project names the other token and the daemon responds, a daemon joins only once.
  await sql`update supplier_machines set endpoint = 'https://127.0.0.1:' || ${daemon.port}::text
    where id = ${toUuid(byCertificate.id)}`.execute(db.kysely);
  await clock.advance(MINUTE_MS);
  await sweep();
  expect(await now(byCertificate)).toMatchObject({
    stage: 'refused',
    problem: expect.stringContaining('already joined') as string,
  });
});

it('a second request with another address continues the enrolment at that address', async () => {
  const [orgId, daemon] = [await newSupplier(), await newDaemon()];
  const token = await newToken(orgId);
  const wrong = await joinWith(daemon, token, { endpoint: 'https://127.0.0.2:1' });
  await sweep();
  expect(await now(wrong)).toMatchObject({ stage: 'trusting' });
  const right = await joinWith(daemon, token);
  expect(right.id).toBe(wrong.id);
  await sweep();
  expect(await now(right)).toMatchObject({ stage: 'inspecting', endpoint: daemon.url });
});

it('a worker with an outdated claim records nothing after the request was repeated', async () => {
  const [orgId, daemon] = [await newSupplier(), await newDaemon()];
  const token = await newToken(orgId);
  const first = await joinWith(daemon, token, { incusToken: daemon.trustToken() });
  daemon.fake.secrets.clear();
  const [takenUp] = await claimEnrolments(deps, { limit: 1, perSupplier: 1, busy: [] });
  await joinWith(daemon, token);
  await advanceEnrolment(deps, takenUp ?? expect.fail('No enrolment was due.'));
  expect(await now(first)).toMatchObject({ stage: 'trusting' });
  await sweep();
  expect(await now(first)).toMatchObject({ stage: 'inspecting' });
});

it('a request with a revoked join token does not restart an enrolment', async () => {
  const [orgId, daemon] = [await newSupplier(), await newDaemon()];
  const token = await newToken(orgId);
  await joinWith(daemon, token);
  await sql`update supplier_join_tokens set revoked_at = now() where org_id = ${toUuid(orgId)}`.execute(
    db.kysely,
  );
  await expect(joinWith(daemon, token)).rejects.toMatchObject({ reason: 'JOIN_TOKEN_INVALID' });
});
