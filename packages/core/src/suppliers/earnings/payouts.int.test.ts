import { fromUuid, toUuid, type OrgId, type PayoutId } from '@millrace/platform/ids';
import { nanoUsd, negateUsd } from '@millrace/platform/money';
import { uniqueId } from '@millrace/testing';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { systemAuditContext } from '../../identity/index.ts';
import { setFrozen } from '../../ledger/index.ts';
import {
  createSupplierMoneyHarness,
  grantOf,
  HOUR_MS,
  reasonOf,
  usd,
  type SeededSupplier,
} from './earnings.fixture.ts';
import { sumMaturing } from './earnings.store.ts';
import { payableAmount, PAYOUTS_WAITING_MAX, type Payout, type PayoutOutcome } from './payouts.ts';
import { requestPayout, settlePayout } from './payouts.service.ts';
import { listAllPayouts, listPayouts } from './payouts.store.ts';

const operator = systemAuditContext('operator', 'live');
let supplier: SeededSupplier;

const harness = await createSupplierMoneyHarness();
afterAll(() => harness[Symbol.asyncDispose]());
beforeEach(async () => {
  supplier = await harness.supplier();
});

/** The supplier earns nine dollars in ten hours, at a fee of ten per cent. */
async function earnNine() {
  const tenant = await harness.tenant(100);
  const meter = await harness.rent(tenant.orgId, supplier.orgId, { rate: usd(1), feePpm: 100_000 });
  const startedAt = harness.clock.nowMs();
  await harness.pass(10 * HOUR_MS);
  return { ...tenant, meter, at: (hours: number) => new Date(startedAt + hours * HOUR_MS) };
}

const request = (amount: number, call = supplier.call, holdMs = 0): Promise<Payout> =>
  harness.within((tx) => requestPayout(tx, call, usd(amount), { holdMs }));
const settle = (id: PayoutId, outcome: PayoutOutcome): Promise<Payout> =>
  harness.within((tx) =>
    settlePayout(tx, operator, id, { outcome, reference: 'SEPA 1', reason: 'as agreed' }),
  );
const account = () => harness.account(supplier.orgId);

const WEEK_MS = 7 * 24 * HOUR_MS;

async function payable() {
  const maturing = await sumMaturing(harness.db, supplier.orgId, {
    now: harness.clock.now(),
    holdMs: WEEK_MS,
  });
  const { balance, held } = await account();
  return { payable: payableAmount({ balance: nanoUsd(balance), held: nanoUsd(held) }, maturing), maturing };
}

/** Refunds this amount of the newest charge of a tenant. */
async function refund(orgId: OrgId, amount: number): Promise<void> {
  const [source] = await harness.rows<{ id: string }>(
    `select id from ledger_transfers where org_id = '${toUuid(orgId)}' and kind = 'charge' order by id desc limit 1`,
  );
  if (source === undefined) throw new Error('no charge');
  await harness.apply({
    do: 'refund',
    orgId,
    mode: 'live',
    cause: { kind: 'operator', id: uniqueId() },
    step: 'refund',
    transferId: fromUuid('trf', source.id),
    amount: usd(amount),
    description: 'Refund',
  });
}

describe('requestPayout and settlePayout', () => {
  it('hold the amount and reduce the payable amount', async () => {
    await earnNine();
    await request(6);
    expect(await account()).toEqual({ balance: usd(9), held: usd(6) });
    expect(await reasonOf(request(3.000000001))).toBe('PAYOUT_EXCEEDS_EARNINGS');
    await request(3);
    expect(await reasonOf(request(0.000000001))).toBe('PAYOUT_EXCEEDS_EARNINGS');
    expect(await harness.drift()).toEqual([]);
  });

  it('allow only earnings from before the holding period', async () => {
    const holdMs = 7 * 24 * HOUR_MS;
    const held = (amount: number) => request(amount, supplier.call, holdMs);
    const { orgId, meter, at } = await earnNine();
    await harness.change({ do: 'close', meterId: meter.id, at: at(10), rest: 'waived' }, orgId);
    await expect(held(0.01)).rejects.toThrow(
      '0.00 USD is payable now. 9.00 USD was earned in the last 7 days',
    );
    await harness.pass(holdMs);
    await earnNine();
    expect(await reasonOf(held(9.01))).toBe('PAYOUT_EXCEEDS_EARNINGS');
    await held(9);
    expect(await reasonOf(held(0.01))).toBe('PAYOUT_EXCEEDS_EARNINGS');
    expect(await harness.drift()).toEqual([]);
  });

  it('allow matured earnings less their refunds; refunds of maturing earnings do not reduce them', async () => {
    const { orgId: tenant, meter, at } = await earnNine();
    await harness.change({ do: 'close', meterId: meter.id, at: at(10), rest: 'waived' }, tenant);
    await harness.pass(WEEK_MS);
    const young = await earnNine();
    await harness.change(
      { do: 'close', meterId: young.meter.id, at: young.at(10), rest: 'waived' },
      young.orgId,
    );
    expect(await payable()).toEqual({ payable: usd(9), maturing: usd(9) });
    await refund(young.orgId, 4);
    expect(await payable()).toEqual({ payable: usd(9), maturing: usd(5.4) });
    await refund(tenant, 5);
    expect(await payable()).toEqual({ payable: usd(4.5), maturing: usd(5.4) });
    expect(await reasonOf(request(4.51, supplier.call, WEEK_MS))).toBe('PAYOUT_EXCEEDS_EARNINGS');
    await request(4.5, supplier.call, WEEK_MS);
    await harness.pass(WEEK_MS + HOUR_MS);
    await request(5.4, supplier.call, WEEK_MS);
    expect(await account()).toEqual({ balance: usd(9.9), held: usd(9.9) });
    expect(await harness.drift()).toEqual([]);
  });

  it('allow matured earnings less matured time that a meter returned', async () => {
    const tenant = await harness.tenant(1_000);
    const startedAt = harness.clock.nowMs();
    const meter = await harness.rent(tenant.orgId, supplier.orgId, { rate: usd(1), feePpm: 100_000 });
    await harness.pass(10 * HOUR_MS);
    await harness.pass(WEEK_MS + HOUR_MS);
    expect(await payable()).toEqual({ payable: usd(9), maturing: usd(0.9 * 169) });
    // The host was down since the sixth hour: all maturing time is returned, and four matured hours.
    const at = new Date(startedAt + 6 * HOUR_MS);
    await harness.change({ do: 'pause', meterId: meter.id, at }, tenant.orgId);
    expect(await payable()).toEqual({ payable: usd(5.4), maturing: usd(0) });
    await harness.change({ do: 'resume', meterId: meter.id, at: harness.clock.now() }, tenant.orgId);
    await harness.pass(10 * HOUR_MS);
    expect(await payable()).toEqual({ payable: usd(5.4), maturing: usd(9) });
    expect(await reasonOf(request(5.41, supplier.call, WEEK_MS))).toBe('PAYOUT_EXCEEDS_EARNINGS');
    expect(await harness.drift()).toEqual([]);
  });

  it('never pay out promotional credit, neither to its owner nor to another supplier', async () => {
    const gift = (orgId: OrgId) =>
      harness.apply({ ...grantOf(orgId, usd(1_000)), promo: { priority: 1, expiresAt: null } });
    const rent = (orgId: OrgId) =>
      reasonOf(harness.rent(orgId, supplier.orgId, { rate: usd(1), feePpm: 100_000 }));
    await gift(supplier.orgId);
    expect(await rent(supplier.orgId)).toBe('INSUFFICIENT_BALANCE');
    const { orgId: accomplice } = await harness.tenant(4);
    await gift(accomplice);
    expect(await rent(accomplice)).toBe('done');
    await harness.pass(HOUR_MS);
    await harness.pass(2 * HOUR_MS);
    expect(await account()).toEqual({ balance: usd(2.7), held: 0n });
    const [left] = await harness.rows<{ promo: bigint; credit: bigint }>(
      `select sum(balance_nano_usd) filter (where kind = 'promo')::bigint as promo,
              sum(balance_nano_usd) filter (where kind = 'credit')::bigint as credit
         from ledger_accounts where org_id = '${toUuid(accomplice)}' and mode = 'live'`,
    );
    expect(left).toEqual({ promo: usd(1_000), credit: usd(1) });
    expect(await harness.drift()).toEqual([]);
  });

  it('never exceed the payable amount under concurrent requests', async () => {
    await earnNine();
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => reasonOf(request(2))));
    expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(4);
    expect(new Set(outcomes)).toEqual(new Set(['done', 'PAYOUT_EXCEEDS_EARNINGS']));
    expect(await account()).toEqual({ balance: usd(9), held: usd(8) });
  });

  it('pay once when settled repeatedly and concurrently', async () => {
    await earnNine();
    const { id } = await request(6);
    const settled = await Promise.all(Array.from({ length: 6 }, () => settle(id, 'paid')));
    expect(new Set(settled.map(({ transferId }) => transferId)).size).toBe(1);
    expect(await settle(id, 'paid')).toMatchObject({ status: 'paid', reference: 'SEPA 1', amount: usd(6) });
    expect(await account()).toEqual({ balance: usd(3), held: 0n });
    expect(await reasonOf(settle(id, 'rejected'))).toBe('PAYOUT_SETTLED');
    const transfers = await harness.rows(
      `select 1 from ledger_transfers where kind = 'payout' and org_id = '${toUuid(supplier.orgId)}'`,
    );
    expect(transfers).toHaveLength(1);
    expect(await harness.drift()).toEqual([]);
  });

  it('apply exactly one of two concurrent opposite settlements', async () => {
    await earnNine();
    const { id } = await request(6);
    const outcomes = await Promise.all([reasonOf(settle(id, 'paid')), reasonOf(settle(id, 'rejected'))]);
    expect(outcomes.toSorted()).toEqual(['PAYOUT_SETTLED', 'done']);
    expect(await harness.drift()).toEqual([]);
  });

  it('release the hold of a rejected payout', async () => {
    await earnNine();
    const { id } = await request(9);
    expect(await settle(id, 'rejected')).toMatchObject({ status: 'rejected', transferId: null });
    expect(await account()).toEqual({ balance: usd(9), held: 0n });
    expect(await reasonOf(settle(id, 'paid'))).toBe('PAYOUT_SETTLED');
    await request(9);
    expect(await harness.drift()).toEqual([]);
  });

  it('commit the payout and its money together', async () => {
    await earnNine();
    const failed = harness.within(async (tx) => {
      await requestPayout(tx, supplier.call, usd(5), { holdMs: 0 });
      throw new Error('the process dies');
    });
    await expect(failed).rejects.toThrow('dies');
    expect(await account()).toEqual({ balance: usd(9), held: 0n });
    const { id } = await request(5);
    const unsettled = harness.within(async (tx) => {
      await settlePayout(tx, operator, id, { outcome: 'paid', reference: null, reason: 'as agreed' });
      throw new Error('the process dies');
    });
    await expect(unsettled).rejects.toThrow('dies');
    expect(await account()).toEqual({ balance: usd(9), held: usd(5) });
    expect(await harness.drift()).toEqual([]);
  });

  it('leave a debt when paid time is returned later; later earnings repay it first', async () => {
    const { orgId, meter, at } = await earnNine();
    await settle((await request(9)).id, 'paid');
    await harness.change({ do: 'pause', meterId: meter.id, at: at(4) }, orgId);
    expect(await account()).toEqual({ balance: negateUsd(usd(5.4)), held: 0n });
    expect(await reasonOf(request(0.000000001))).toBe('PAYOUT_EXCEEDS_EARNINGS');
    await harness.change({ do: 'resume', meterId: meter.id, at: harness.clock.now() }, orgId);
    await harness.pass(7 * HOUR_MS);
    expect((await account()).balance).toBe(usd(0.9));
    expect(await reasonOf(request(1))).toBe('PAYOUT_EXCEEDS_EARNINGS');
    await request(0.9);
    expect(await harness.drift()).toEqual([]);
  });

  it('pay a requested payout in full although its time was returned in the meantime', async () => {
    const { orgId, meter, at } = await earnNine();
    const { id } = await request(9);
    await harness.change({ do: 'close', meterId: meter.id, at: at(2) }, orgId);
    expect(await account()).toEqual({ balance: usd(1.8), held: usd(9) });
    await settle(id, 'paid');
    expect(await account()).toEqual({ balance: negateUsd(usd(7.2)), held: 0n });
    expect(await harness.drift()).toEqual([]);
  });
});

describe('permissions of payouts', () => {
  it('limit the number of pending payouts', async () => {
    await earnNine();
    for (let count = 0; count < PAYOUTS_WAITING_MAX; count += 1) await request(0.01);
    expect(await reasonOf(request(0.01))).toBe('PAYOUT_LIMIT_REACHED');
    const [newest] = await listPayouts(harness.db, supplier.orgId, { limit: 1, after: null });
    if (newest === undefined) throw new Error('no payout');
    await settle(newest.id, 'rejected');
    expect(await reasonOf(request(0.01))).toBe('done');
  });

  it('require a live key of a supplier whose account is not frozen', async () => {
    await earnNine();
    expect(await reasonOf(request(1, supplier.testCall))).toBe('INSUFFICIENT_SCOPE');
    const outsider = await harness.tenant(1);
    const callOfOutsider = { ...supplier.call, orgId: outsider.orgId };
    expect(await reasonOf(request(1, callOfOutsider))).toBe('API_KEY_REVOKED');
    expect(await reasonOf(request(1))).toBe('done');
    await harness.within((tx) => setFrozen(tx, supplier.orgId, 'live', true));
    expect(await reasonOf(request(1))).toBe('ACCOUNT_FROZEN');
  });

  it('allow a suspended supplier to request its earnings', async () => {
    await earnNine();
    await harness.rows(
      `update suppliers set status = 'suspended' where org_id = '${toUuid(supplier.orgId)}' returning id`,
    );
    expect(await request(1)).toMatchObject({ status: 'requested' });
  });

  it('show suppliers their own payouts and operators all, newest first', async () => {
    await earnNine();
    const [first, second] = [await request(1), await request(2)];
    await settle(first.id, 'paid');
    const own = await listPayouts(harness.db, supplier.orgId, { limit: 10, after: null });
    expect(own.map(({ id, status }) => [id, status])).toEqual([
      [second.id, 'requested'],
      [first.id, 'paid'],
    ]);
    const other = await harness.supplier();
    expect(await listPayouts(harness.db, other.orgId, { limit: 10, after: null })).toEqual([]);
    const waiting = await listAllPayouts(harness.db, { status: 'requested' }, { limit: 100, after: null });
    expect(waiting.map(({ id }) => id)).toContain(second.id);
    expect(waiting.map(({ id }) => id)).not.toContain(first.id);
    const before = await listAllPayouts(harness.db, { status: null }, { limit: 1, after: second.id });
    expect(before[0]?.id).toBe(first.id);
  });
});
