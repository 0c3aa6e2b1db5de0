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

/** Machines that ask to join and then lie: doubles of their daemons, and all of ours that is real. */

const REGION = 'us-central-1';
const MINUTE_MS = 60_000;
/** Divides the time limits of calls where a daemon gives no answer, so that a test does not wait a quarter of a minute for each. */
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
  // The product's own time limits: an honest daemon may be slow on a slow machine.
  useTimeLimits({ divisor: 1, readTimeoutMs: 60_000 });
});
afterEach(async () => {
  await sync.stop();
  await drivers.close();
  await Promise.all(daemons.splice(0).map((daemon) => daemon[Symbol.asyncDispose]()));
  // Nothing of one test is due in another.
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

/** What join.sh does and sends. */
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
  return (await findEnrolment(db, orgId, id)) ?? expect.fail('There is no such enrolment.');
}

/** Tried until its time is over. */
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

it('an honest double is trusted and inspected, so that what follows is about lies', async () => {
  const [orgId, daemon] = [await newSupplier(), await newDaemon()];
  const enrolment = await joinWith(daemon, await newToken(orgId));
  await sweep();
  expect(await now(enrolment)).toMatchObject({ stage: 'inspecting', problem: null, trustToken: null });
  await sync.tick();
  const { clusterId } = await now(enrolment);
  await sync.look(clusterId ?? expect.fail('It has no cluster.'));
  await clock.advance(MINUTE_MS);
  await sweep();
  expect(await now(enrolment)).toMatchObject({ stage: 'testing' });
});

describe.each(Object.entries<Misbehaviour>(unusableResponses))('a daemon that answers with %s', (_, flaw) => {
  it('is refused in words once its time is over, keeps no secret of its owner here, and may ask again', async () => {
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
    // From here on the daemon is honest, and may be slow.
    await drivers.close();
    useTimeLimits({ divisor: 1, readTimeoutMs: 60_000 });
    daemon.misbehaviour = null;
    const again = await joinWith(daemon, token);
    expect(again.id).not.toBe(enrolment.id);
    await sweep();
    expect((await now(again)).stage).toBe('inspecting');
  });
});

it.each(Object.entries<Misbehaviour>(impossibleHardware))(
  'a daemon that reports %s is never tested, let alone enrolled',
  async (_, flaw) => {
    const [orgId, daemon] = [await newSupplier(), await newDaemon()];
    const enrolment = await joinWith(daemon, await newToken(orgId));
    await sweep();
    daemon.misbehaviour = flaw;
    await sync.tick();
    await sync.look((await now(enrolment)).clusterId ?? expect.fail('It has no cluster.'));
    const refused = await giveUpOn(enrolment);
    expect(refused.stage).toBe('refused');
    expect(await clustersOf(orgId)).toEqual(['removed']);
  },
);

describe('a daemon that trusts us with more than one project', () => {
  it('is refused when it says so, and is made to forget our certificate', async () => {
    const [orgId, daemon] = [await newSupplier(), await newDaemon()];
    const incusToken = daemon.trustToken({ restricted: false });
    const enrolment = await joinWith(daemon, await newToken(orgId), { incusToken });
    await sweep();
    const refused = await now(enrolment);
    expect(refused).toMatchObject({ stage: 'refused', trustToken: null });
    expect(refused.problem).toContain('trusts Millrace with everything');
    expect(daemon.fake.trusted.size).toBe(0);
    expect(await clustersOf(orgId)).toEqual([]);
  });

  it('is refused when it says that it does not and shows us what is not ours', async () => {
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

it('a machine of which something cannot be written down is refused when its time is over, as every other', async () => {
  const [orgId, daemon] = [await newSupplier(), await newDaemon()];
  const enrolment = await joinWith(daemon, await newToken(orgId));
  // As if a text of it had come through all that checks texts.
  sweeper = new EnrolmentSweep({ ...deps, credentialRef: 'a\u0000b' });
  expect(await giveUpOn(enrolment)).toMatchObject({ stage: 'refused', trustToken: null });
  expect(await clustersOf(orgId)).toEqual([]);
});

it('a daemon whose owner did not ask for it is not taken: its project does not name the join token', async () => {
  const [orgId, daemon] = [await newSupplier(), await newDaemon()];
  const enrolment = await joinWith(daemon, await newToken(orgId));
  daemon.fake.projectConfig['user.millrace.join'] = 'f'.repeat(64);
  await sweep();
  expect((await now(enrolment)).problem).toContain('does not name the join token');
});

it('a daemon that shows another certificate than the one it was announced with is told no secret', async () => {
  const [orgId, daemon] = [await newSupplier(), await newDaemon()];
  const enrolment = await joinWith(daemon, await newToken(orgId));
  await daemon.showOtherCertificate();
  await sweep();
  expect(daemon.requests).toEqual([]);
  expect(await now(enrolment)).toMatchObject({ stage: 'trusting' });
});

it('a token of one daemon and the certificate of another do not go together', async () => {
  const [orgId, one, other] = [await newSupplier(), await newDaemon(), await newDaemon()];
  const token = await newToken(orgId);
  const mixed = joinWith(one, token, { serverCertificate: other.certificate.certificate });
  await expect(mixed).rejects.toMatchObject({ reason: 'VALIDATION_FAILED' });
});

it('a daemon at an address of our inside is never connected to', async () => {
  await drivers.close();
  deps = depsWith(createNetGuard({ allowedNetworks: [] }));
  sweeper = new EnrolmentSweep(deps);
  const [orgId, daemon] = [await newSupplier(), await newDaemon()];
  const enrolment = await joinWith(daemon, await newToken(orgId));
  const refused = await giveUpOn(enrolment);
  expect(daemon.requests).toEqual([]);
  expect(refused.stage).toBe('refused');
});

/** Leaves nothing of the supplier for the sweeps of other tests. */
async function refuseAll(orgId: OrgId): Promise<void> {
  await sql`update supplier_machines set stage = 'refused', next_try_at = null, deadline_at = null, trust_token = null
    where org_id = ${toUuid(orgId)}`.execute(db.kysely);
}

describe(failingLoop('enrol machines'), () => {
  it.each<ItemPoison>(['throws', 'hangs'])(
    'a supplier whose daemon %s delays no other supplier',
    async (how) => {
      // Long enough for an honest daemon on a slow machine; the silent ones are waited for at the end.
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

it('a supplier has at most so many machines that are joining, however many ask at once', async () => {
  const orgId = await newSupplier();
  const token = await newToken(orgId);
  const daemon = await newDaemon();
  const first = await joinWith(daemon, token);
  // Rows of other daemons, as if they were waiting too.
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

it('a daemon that strangers named first joins with its owner: an address and a certificate are no secrets', async () => {
  const [outsider, owner, daemon] = [await newSupplier(), await newSupplier(), await newDaemon()];
  const token = await newToken(outsider);
  // Nothing answers there with the certificate of the owner, or with that of the stranger.
  const byCertificate = await joinWith(daemon, token, { endpoint: 'https://127.0.0.2:1' });
  const byAddress = await joinWith(await newDaemon(), token, { endpoint: daemon.url });
  const own = await joinWith(daemon, await newToken(owner));
  await sweep();
  const stages = [await now(byCertificate), await now(byAddress), await now(own)].map(({ stage }) => stage);
  expect(stages).toEqual(['trusting', 'trusting', 'inspecting']);
  await expect(joinWith(daemon, token)).rejects.toMatchObject({ reason: 'MACHINE_JOINED_ALREADY' });
  // Also when its project names the stranger's token and it answers there: it has joined, and does so once.
  await sql`update supplier_machines set endpoint = 'https://127.0.0.1:' || ${daemon.port}::text
    where id = ${toUuid(byCertificate.id)}`.execute(db.kysely);
  await clock.advance(MINUTE_MS);
  await sweep();
  expect(await now(byCertificate)).toMatchObject({
    stage: 'refused',
    problem: expect.stringContaining('joined already') as string,
  });
});

it('who runs it again with another address is asked for there', async () => {
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

it('what was taken up before it was asked anew changes nothing: its trust token is not the one any more', async () => {
  const [orgId, daemon] = [await newSupplier(), await newDaemon()];
  const token = await newToken(orgId);
  const first = await joinWith(daemon, token, { incusToken: daemon.trustToken() });
  daemon.fake.secrets.clear();
  const [takenUp] = await claimEnrolments(deps, { limit: 1, perSupplier: 1, busy: [] });
  await joinWith(daemon, token);
  await advanceEnrolment(deps, takenUp ?? expect.fail('Nothing was due.'));
  expect(await now(first)).toMatchObject({ stage: 'trusting' });
  await sweep();
  expect(await now(first)).toMatchObject({ stage: 'inspecting' });
});

it('a join token that was revoked does not bring an enrolment back to its begin', async () => {
  const [orgId, daemon] = [await newSupplier(), await newDaemon()];
  const token = await newToken(orgId);
  await joinWith(daemon, token);
  await sql`update supplier_join_tokens set revoked_at = now() where org_id = ${toUuid(orgId)}`.execute(
    db.kysely,
  );
  await expect(joinWith(daemon, token)).rejects.toMatchObject({ reason: 'JOIN_TOKEN_INVALID' });
});
