import { ppm } from '@millrace/platform/money';
import { insertStatement, insertSupplier, testIds, uniqueId } from '@millrace/testing';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { changeMeters, openMeters } from '../../metering/index.ts';
import { apply, inTransaction, usd } from '../../money.fixture.ts';
import { seedOrganisation, startRoutes, type SeededOrganisation } from '../../routes.fixture.ts';
import { supplierRate, serveSupplierMoney } from '../index.ts';

/** Tests earnings and payouts over HTTP, for suppliers and operators. */

let supplier: SeededOrganisation;

const fixture = await startRoutes((deps) => serveSupplierMoney({ ...deps, payoutHoldMs: 0 }));
const operator = await seedOrganisation(fixture.db, { platformRole: 'operator' });
afterAll(() => fixture[Symbol.asyncDispose]());
beforeEach(async () => {
  supplier = await seedOrganisation(fixture.db, { supplies: true });
  await insertSupplier(fixture.db, { orgId: supplier.organisation.id });
});

const HOUR_MS = 3_600_000;

/** A tenant rented from the supplier for ten hours at a dollar an hour and a fee of ten per cent. */
async function earnNine(): Promise<void> {
  const { id: tenant } = (await seedOrganisation(fixture.db)).organisation;
  const amount = usd(50);
  await apply(fixture, {
    do: 'credit',
    kind: 'grant',
    orgId: tenant,
    mode: 'live',
    cause: { kind: 'operator', id: uniqueId() },
    step: 'grant',
    amount,
    from: [{ account: { kind: 'grants' }, amount }],
    description: 'Grant',
  });
  const endedMs = Date.now() - HOUR_MS;
  await inTransaction(fixture, async (tx) => {
    const [meter] = await openMeters(tx, tenant, [
      {
        mode: 'live',
        cause: { kind: 'rental', id: uniqueId() },
        name: 'gpu',
        product: 'instance',
        ratePerHour: usd(1),
        quantity: 1,
        unit: 'gpu',
        supplier: { orgId: supplier.organisation.id, ratePerHour: supplierRate(usd(1), ppm(100_000)) },
        funding: { kind: 'ahead' },
        at: new Date(endedMs - 10 * HOUR_MS),
      },
    ]);
    if (meter === undefined) throw new Error('no meter');
    await changeMeters(tx, tenant, [{ do: 'close', meterId: meter.id, at: new Date(endedMs) }]);
  });
}

const read = (path: string) =>
  fixture.call({ method: 'GET', path: `/v2/supplier/${path}`, key: supplier.owner.key });
const requestPayout = (amountNanoUsd: string, idempotencyKey: string = uniqueId()) =>
  fixture.call({
    method: 'POST',
    path: '/v2/supplier/payouts',
    key: supplier.owner.key,
    headers: { 'idempotency-key': idempotencyKey },
    body: { amountNanoUsd },
  });
const settle = (id: string, body: object, headers = {}) =>
  fixture.call({
    method: 'POST',
    path: `/v2/admin/payouts/${id}/settle`,
    key: operator.owner.key,
    headers,
    body,
  });
const outcome = (response: { status: number; json: { reason?: string } }) => [
  response.status,
  response.json.reason,
];

describe('a supplier', () => {
  it('sees its earnings, requests a payout and sees its outcome', async () => {
    await earnNine();
    expect((await read('earnings')).json).toMatchObject({
      accruedNanoUsd: '0',
      payableNanoUsd: '9000000000',
      requestedNanoUsd: '0',
      paidOutNanoUsd: '0',
      machines: [{ machineId: null, gpuSeconds: 36_000, earnedNanoUsd: '9000000000' }],
    });
    const requested = await requestPayout('6000000000');
    expect([requested.status, requested.json]).toMatchObject([
      201,
      { amountNanoUsd: '6000000000', status: 'requested', settledAt: null, reference: null, reason: null },
    ]);
    expect((await read('earnings')).json).toMatchObject({
      payableNanoUsd: '3000000000',
      requestedNanoUsd: '6000000000',
    });
    const tooMuch = await requestPayout('3000000001');
    expect(outcome(tooMuch)).toEqual([409, 'PAYOUT_EXCEEDS_EARNINGS']);
    expect(tooMuch.json.message).toContain('3.00 USD');

    const listed = await fixture.call({
      method: 'GET',
      path: '/v2/admin/payouts?status=requested',
      key: operator.owner.key,
    });
    expect(listed.json.items).toContainEqual(
      expect.objectContaining({ id: requested.json.id, organisationId: supplier.organisation.id }),
    );
    const paid = { outcome: 'paid', reference: 'SEPA 4711', reason: 'monthly run' };
    const settled = await settle(requested.json.id as string, paid);
    expect(settled.json).toMatchObject({ status: 'paid', reference: 'SEPA 4711', reason: 'monthly run' });
    expect((await read('payouts')).json.items).toMatchObject([
      { id: requested.json.id, status: 'paid', reference: 'SEPA 4711', reason: null },
    ]);
    expect((await read('earnings')).json).toMatchObject({
      payableNanoUsd: '3000000000',
      requestedNanoUsd: '0',
      paidOutNanoUsd: '6000000000',
    });
  });

  it('that repeats a request with its idempotency key makes one payout', async () => {
    await earnNine();
    const key = uniqueId();
    const [first, again] = [await requestPayout('9000000000', key), await requestPayout('9000000000', key)];
    expect([first.status, again.status, again.json]).toEqual([201, 201, first.json]);
    expect((await read('payouts')).json.items).toHaveLength(1);
  });

  it('sees the reason of a rejected payout and can request again', async () => {
    await earnNine();
    const { json } = await requestPayout('9000000000');
    await settle(json.id as string, { outcome: 'rejected', reason: 'no bank account on file' });
    expect((await read('payouts')).json.items).toMatchObject([
      { status: 'rejected', reason: 'no bank account on file' },
    ]);
    expect((await requestPayout('9000000000')).status).toBe(201);
  });

  it('reads only its own statements', async () => {
    const own = await insertStatement(fixture.db, supplier.organisation.id);
    const other = await seedOrganisation(fixture.db, { supplies: true });
    const foreign = await insertStatement(fixture.db, other.organisation.id);
    const listed = await read('statements');
    expect(listed.json.items).toMatchObject([{ id: own, netNanoUsd: '0' }]);
    expect((await read(`statements/${own}`)).json).toMatchObject({ id: own, lines: [] });
    expect(outcome(await read(`statements/${foreign}`))).toEqual([404, 'STATEMENT_NOT_FOUND']);
  });

  it('cannot query a period that ends before it starts or is longer than a year', async () => {
    const query = (from: string, until: string) => read(`earnings?from=${from}&until=${until}`);
    expect(outcome(await query('2026-02-01T00:00:00Z', '2026-01-01T00:00:00Z'))).toEqual([
      400,
      'VALIDATION_FAILED',
    ]);
    expect(outcome(await query('2020-01-01T00:00:00Z', '2026-01-01T00:00:00Z'))).toEqual([
      400,
      'VALIDATION_FAILED',
    ]);
    expect((await query('2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z')).json.machines).toEqual([]);
  });
});

describe('an operator', () => {
  it('settles a payout once; a later opposite outcome is refused', async () => {
    await earnNine();
    const { json } = await requestPayout('9000000000');
    const id = json.id as string;
    const paid = { outcome: 'paid', reason: 'monthly run' };
    const responses = await Promise.all([settle(id, paid), settle(id, paid), settle(id, paid)]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(outcome(await settle(id, { outcome: 'rejected', reason: 'changed my mind' }))).toEqual([
      409,
      'PAYOUT_SETTLED',
    ]);
    expect((await read('earnings')).json).toMatchObject({
      payableNanoUsd: '0',
      paidOutNanoUsd: '9000000000',
    });
    expect(outcome(await settle(testIds.next('pyo'), paid))).toEqual([404, 'PAYOUT_NOT_FOUND']);
  });
});
