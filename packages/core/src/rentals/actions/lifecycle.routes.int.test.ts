import { createContract, defaultProviders } from '@millrace/contract';
import type { Mode } from '@millrace/platform/envelope';
import { createIdSource, toUuid } from '@millrace/platform/ids';
import {
  callServer,
  createRouteServer,
  fullAccessPrincipal,
  hybridClock,
  uniqueId,
  type CallResponse,
} from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { serveRentalLifecycle } from '../index.ts';
import { reconcileToIdle, reconcileUntil } from '../reconcile/reconcile.fixture.ts';
import { startRunningRental, expectConsistent, later, viewOf } from '../lifecycle.fixture.ts';
import { createRentalHarness, DAY_MS, HOUR_MS, type Tenant } from '../model/rental.fixture.ts';
import type { Rental } from '../model/rental.ts';

const contract = createContract({ providers: defaultProviders });
const base = '/v2/alpha/on-demand';
const terminatePath = `${base}/virtual-machine-rentals/terminate`;
const absentId = 2_147_483_647;

const callers = new Map<string, ReturnType<typeof fullAccessPrincipal>>();
const harness = await createRentalHarness();
await harness.offerTerm(1);
const clock = hybridClock(harness.clock);
const server = createRouteServer({
  contract,
  authenticate: async ({ key }) => callers.get(key) ?? expect.fail('Unknown API key.'),
  db: harness.db,
  clock,
  ids: createIdSource({ clock, cell: 1 }),
});
serveRentalLifecycle({ server, operations: contract.operations });
afterAll(async () => {
  await server.close();
  await expectConsistent(harness);
  await harness.drop();
});

async function post(
  who: Tenant,
  path: string,
  body: object,
  options: { readonly mode?: Mode; readonly idempotencyKey?: string } = {},
): Promise<CallResponse> {
  const { mode = 'live', idempotencyKey } = options;
  const keyId = who.keys[mode];
  callers.set(keyId, fullAccessPrincipal({ orgId: who.orgId, userId: who.userId, keyId, mode }));
  const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
  return callServer(server, { method: 'POST', path, key: keyId, body, headers });
}

const runAction = (who: Tenant, { wireId }: Pick<Rental, 'wireId'>, what: string, body: object = {}) =>
  post(who, `${base}/rentals/${wireId}/${what}`, body);

const audited = async (tenant: Tenant): Promise<readonly string[]> => {
  const rows = await harness.rows<{ action: string }>(
    `select action from audit_log where org_id = '${toUuid(tenant.orgId)}' and resource_kind = 'rental' order by id`,
  );
  return rows.map(({ action }) => action);
};

async function setKind({ wireId }: Rental, kind: Rental['kind']): Promise<void> {
  await harness.database.query('update rentals set kind = $1 where wire_id = $2', [kind, wireId]);
}

describe('POST virtual-machine-rentals/terminate', () => {
  it('returns the receipt, repeats it, and also serves the path without alpha', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant);
    await harness.advance(HOUR_MS);
    const body = { rentalId: rental.wireId, reason: 'done' };
    const first = await post(tenant, terminatePath, body);
    expect(first.status).toBe(200);
    expect(first.json).toMatchObject({
      rentalId: rental.wireId,
      status: 'Terminating',
      billingStoppedAt: harness.clock.now().toISOString(),
      commitment: null,
    });
    const ranMs = BigInt(harness.clock.nowMs() - (rental.startedAt?.getTime() ?? 0));
    expect(first.json.finalCost.nanoUsd).toBe(String((3_980_000_001n * ranMs) / 3_600_000n));
    await harness.clock.advance(5_000);
    const again = await post(tenant, '/v2/on-demand/virtual-machine-rentals/terminate', body);
    expect(again).toMatchObject({ status: 200, json: first.json });
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    const later = await post(tenant, terminatePath, { rentalId: rental.wireId });
    expect(later.json).toMatchObject({
      status: 'Terminated',
      finalCost: first.json.finalCost,
      billingStoppedAt: first.json.billingStoppedAt,
    });
    expect(await audited(tenant)).toEqual(['rental.created', 'rental.terminated']);
  });

  it('returns the owed part of a term that is ended early', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, { termType: 'reserved', termPeriodDays: 1 });
    await harness.advance(HOUR_MS);
    const { json } = await post(tenant, terminatePath, { rentalId: rental.wireId });
    const [term] = (await viewOf(harness, rental)).terms;
    const whole = BigInt(term?.price.reserve?.committedNanoUsd ?? 0);
    const { owedNanoUsd, refundNanoUsd, refundPercentage } = json.commitment;
    expect(refundPercentage).toBe(50);
    expect(BigInt(json.finalCost.nanoUsd) + BigInt(refundNanoUsd)).toBe(whole);
    expect(BigInt(owedNanoUsd) - BigInt(refundNanoUsd)).toBeLessThanOrEqual(1n);
  });

  it('returns the same 404 for rentals of other organisations, of the other mode and for unknown ids', async () => {
    const [tenant, other] = [await harness.tenant(), await harness.tenant()];
    const rental = await harness.rent(other, 'live');
    const responses = [
      await post(tenant, terminatePath, { rentalId: rental.wireId }),
      await post(other, terminatePath, { rentalId: rental.wireId }, { mode: 'test' }),
      await post(tenant, terminatePath, { rentalId: absentId }),
      await post(tenant, terminatePath, { rentalId: -1 }),
      await post(tenant, terminatePath, { rentalId: 2 ** 40 }),
    ];
    for (const { status, json } of responses) {
      expect([status, json.reason, json.message]).toEqual([404, 'RENTAL_NOT_FOUND', 'No such rental.']);
    }
    expect((await viewOf(harness, rental)).rental.status).toBe('Pending');
    await setKind(rental, 'bare-metal');
    expect((await post(other, terminatePath, { rentalId: rental.wireId })).status).toBe(404);
    await setKind(rental, 'virtual-machine');
    expect((await post(other, terminatePath, { rentalId: rental.wireId })).status).toBe(200);
  });
});

describe('POST rentals/{id}/…', () => {
  it('stops, starts and reboots a rental and returns its new state', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant);
    const stopped = await runAction(tenant, rental, 'stop', { release: true });
    expect(stopped).toMatchObject({
      status: 202,
      json: { status: 'Running', power: 'changing', gpuHeld: true },
    });
    expect(await runAction(tenant, rental, 'reboot')).toMatchObject({
      status: 400,
      json: { reason: 'ACTION_IN_PROGRESS' },
    });
    await reconcileToIdle(harness, rental);
    expect((await runAction(tenant, rental, 'stop', { release: true })).json).toMatchObject({
      power: 'off',
      gpuHeld: false,
    });
    expect(await runAction(tenant, rental, 'reboot')).toMatchObject({
      status: 400,
      json: { reason: 'RENTAL_IS_OFF' },
    });
    expect(await runAction(tenant, rental, 'start')).toMatchObject({
      status: 202,
      json: { status: 'Pending' },
    });
    await reconcileUntil(harness, rental, { until: 'Running' });
    expect(await runAction(tenant, rental, 'reboot', { force: true })).toMatchObject({ status: 202 });
    expect(await runAction(tenant, { wireId: absentId }, 'start')).toMatchObject({
      status: 404,
      json: { reason: 'RENTAL_NOT_FOUND' },
    });
    await post(tenant, terminatePath, { rentalId: rental.wireId });
    expect(await audited(tenant)).toEqual([
      'rental.created',
      'rental.stop',
      'rental.start',
      'rental.reboot',
      'rental.terminated',
    ]);
  });

  it('extends a term once per Idempotency-Key, and extends a TTL', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, {
      termType: 'reserved',
      termPeriodDays: 1,
      ttlSeconds: 864_000,
    });
    const path = `${base}/rentals/${rental.wireId}/extend`;
    const idempotencyKey = uniqueId();
    const responses = [
      await post(tenant, path, { termPeriodDays: 1 }, { idempotencyKey }),
      await post(tenant, path, { termPeriodDays: 1 }, { idempotencyKey }),
    ];
    const endsAt = later(rental.startedAt, 2 * DAY_MS).toISOString();
    for (const { status, json } of responses) {
      expect([status, json.currentTerm.reservationEndsAt]).toEqual([202, endsAt]);
      expect(json.currentTerm.reservedUntil).toBe(later(rental.startedAt, DAY_MS).toISOString());
    }
    const { json } = await post(tenant, path, { ttlSeconds: 3_600 });
    expect(json.expiresAt).toBe(later(rental.expiresAt, HOUR_MS).toISOString());
    const far = await post(tenant, path, { ttlSeconds: 315_360_000 });
    expect(far).toMatchObject({ status: 400, json: { reason: 'VALIDATION_FAILED' } });
    const none = await post(tenant, path, { termPeriodDays: 9 });
    expect(none.json.reason).toBe('RESERVE_OPTION_NOT_FOUND');
    await post(tenant, terminatePath, { rentalId: rental.wireId });
  });

  it('rejects an extension beyond the maximum duration of the key', async () => {
    const tenant = await harness.tenant();
    const keyId = await harness.limitedKey(tenant, 'live', { maxRentalSeconds: 7_200 });
    const rental = await harness.rent(tenant, 'live', { ttlSeconds: 3_600 }, keyId);
    callers.set(keyId, fullAccessPrincipal({ orgId: tenant.orgId, userId: tenant.userId, keyId }));
    const extend = (ttlSeconds: number) =>
      server.fastify.inject({
        method: 'POST',
        url: `${base}/rentals/${rental.wireId}/extend`,
        headers: { authorization: `Bearer ${keyId}` },
        payload: { ttlSeconds },
      });
    expect((await extend(3_601)).json()).toMatchObject({ reason: 'KEY_LIMIT_EXCEEDED' });
    expect((await extend(3_600)).statusCode).toBe(202);
    await post(tenant, terminatePath, { rentalId: rental.wireId });
  });
});

describe('POST admin/rentals/{id}/terminate', () => {
  it('terminates any rental, waives its remaining term, and stores the reason in the audit log', async () => {
    const [tenant, operator] = [await harness.tenant(), await harness.tenant()];
    const rental = await startRunningRental(harness, tenant, { termType: 'reserved', termPeriodDays: 1 });
    await harness.advance(HOUR_MS);
    const path = `/v2/admin/rentals/${rental.wireId}/terminate`;
    const { status, json } = await post(operator, path, { reason: 'mining on stolen cards' });
    expect(status).toBe(200);
    expect(json).toMatchObject({ status: 'Terminating', commitment: { owedNanoUsd: '0' } });
    expect((await viewOf(harness, rental)).rental.endReason).toBe('Terminated by the operator.');
    const [entry] = await harness.rows<{ reason: string; actor_kind: string }>(
      `select reason, actor_kind from audit_log where org_id = '${toUuid(tenant.orgId)}' and action = 'rental.terminated'`,
    );
    expect(entry).toEqual({ reason: 'mining on stolen cards', actor_kind: 'operator' });
    expect(await post(operator, path, { reason: 'again' })).toMatchObject({ status: 200, json });
    expect(
      await post(operator, `/v2/admin/rentals/${absentId}/terminate`, { reason: 'not there' }),
    ).toMatchObject({
      status: 404,
    });
  });
});

describe('terminating a rental during another request of its organisation', () => {
  it("succeeds at once although that request holds the organisation's lock", async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant);
    // Holds the organisation's row lock, as a slow create request does until it commits.
    const creation = await harness.database.connect();
    await creation.query('begin');
    await creation.query('select 1 from organisations where id = $1 for no key update', [
      toUuid(tenant.orgId),
    ]);
    try {
      const ended = await post(tenant, terminatePath, { rentalId: rental.wireId, reason: 'done' });
      expect(ended).toMatchObject({ status: 200, json: { status: 'Terminating' } });
    } finally {
      await creation.query('rollback');
      await creation.end();
    }
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });
});
