import { systemClock } from '@millrace/platform/clock';
import { isFault } from '@millrace/platform/fault';
import type { RentalId } from '@millrace/platform/ids';
import { meteredTotal } from '@millrace/platform/money';
import { startValkeyServer, testLog } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { createCreditLeaseService } from '../../credit-leases/index.ts';
import { retryWithRecalledCredit, type RecallCredit } from '../../ledger/index.ts';
import { rateOf } from '../../prices/index.ts';
import { HOLD_WINDOW_MS } from '../../metering/index.ts';
import { reconcileRental } from '../reconcile/reconcile-rental.ts';
import { reconcileToIdle, reconcileUntil, reconcileDepsOf } from '../reconcile/reconcile.fixture.ts';
import {
  startRunningRental,
  expectConsistent,
  later,
  meters,
  rentalEventTypes,
  viewOf,
} from '../lifecycle.fixture.ts';
import { lockRentalView, terminateRental } from '../actions/termination.service.ts';
import { stopRental } from '../actions/power.service.ts';
import { createRentalHarness, DAY_MS, MINUTE_MS, SECOND_MS, type Tenant } from '../model/rental.fixture.ts';
import type { Rental } from '../model/rental.ts';

const harness = await createRentalHarness({ nodes: 2 });
await harness.offerTerm(1);
const valkey = await startValkeyServer();
const leases = createCreditLeaseService({
  db: harness.db,
  valkey: valkey.client,
  cell: 1,
  clock: systemClock,
  log: testLog('pots'),
  rules: {
    ...{ leaseMs: 60_000, longestRequestMs: 10_000, deadAfterMs: 120_000, outageMs: 60_000 },
    ...{ least: 0n, sharePercent: 0, growthPauseMs: 5_000 },
  },
});
afterAll(async () => {
  await valkey[Symbol.asyncDispose]();
  await harness.drop();
});

/** Grants a lease as for a gateway. */
async function grantLease({ orgId }: Tenant, amount: bigint): Promise<void> {
  const reply = await leases.lease({
    ...{ orgId, mode: 'live', cell: 1, gatewayId: 'gw', seen: null },
    ...{ shortage: amount, wanted: amount, budgets: [] },
  });
  expect(reply.outcome).toBe('leased');
}

const rentOf = (tenant: Tenant) =>
  retryWithRecalledCredit({ orgId: tenant.orgId, mode: 'live' }, leases.recallFor, () =>
    harness.rent(tenant, 'live'),
  ).then(
    () => 'rented',
    (error: unknown) => (isFault(error) ? error.reason : String(error)),
  );

it('an order recalls exactly the missing amount from a credit lease', async () => {
  const tenant = await harness.tenant({ balanceUsd: 1_000 });
  await harness.rent(tenant, 'live');
  const { held: hold } = await harness.balance(tenant.orgId);
  const { available } = await harness.balance(tenant.orgId);
  // Leases all of the balance except a third of a rental's hold.
  const unleased = hold / 3n;
  await grantLease(tenant, available - unleased);
  expect(await rentOf(tenant)).toBe('rented');
  expect(await harness.balance(tenant.orgId)).toMatchObject({ available: 0n, held: hold + available });
});

it('an order is rejected if the credit lease has too little', async () => {
  const tenant = await harness.tenant({ balanceUsd: 0.01 });
  await grantLease(tenant, 5_000_000n);
  expect(await rentOf(tenant)).toBe('INSUFFICIENT_BALANCE');
});

describe('conversion of a reserved term to on-demand', () => {
  const away: RecallCredit = () => Promise.reject(new Error('away'));

  /** A rental at the end of its term. All other money of its organisation is leased for inference. */
  async function atEndOfTerm(): Promise<{ tenant: Tenant; rental: Rental; endsAt: Date; leased: bigint }> {
    const tenant = await harness.tenant({ balanceUsd: 1_000 });
    const rental = await startRunningRental(harness, tenant, {
      ...{ termType: 'reserved', termPeriodDays: 1, convertToOnDemandOnExpiry: true },
    });
    const endsAt = later(rental.startedAt, DAY_MS);
    await harness.advance(endsAt.getTime() - harness.clock.nowMs());
    const { available: leased } = await harness.balance(tenant.orgId);
    await grantLease(tenant, leased);
    return { tenant, rental, endsAt, leased };
  }

  async function expectConverted(rental: Rental, endsAt: Date): Promise<void> {
    const { terms } = await viewOf(harness, rental);
    expect(terms.map(({ termType, effectiveAt }) => [termType, effectiveAt])).toEqual([
      ['reserved', rental.startedAt],
      ['on-demand', endsAt],
    ]);
    expect((await rentalEventTypes(harness, rental)).filter((type) => type === 'converted')).toHaveLength(1);
  }

  const end = (tenant: Tenant, rental: Rental) =>
    harness.run((tx) =>
      terminateRental(tx, tenant.orgId, rental.id, {
        ...{ reason: 'done', actor: tenant.call('live').cause.actor },
      }),
    );

  /** One round of a worker that recalls money with this function. */
  const round = (rental: Rental, recallMoney: RecallCredit, unfundedSince = new Map<RentalId, number>()) =>
    reconcileRental(
      reconcileDepsOf(harness, { recallMoney, unfundedSince }),
      rental.orgId,
      rental.id,
      new AbortController().signal,
    );

  it('recalls the amount that the rental and its disk need, and no more', async () => {
    const { tenant, rental, endsAt, leased } = await atEndOfTerm();
    const requested: (bigint | 'all')[] = [];
    const recallMoney: RecallCredit = (request) => {
      requested.push(request.amount);
      return leases.recallFor(request);
    };
    expect((await reconcileToIdle(harness, rental, { recallMoney })).status).toBe('Running');
    await expectConverted(rental, endsAt);
    const { terms } = await viewOf(harness, rental);
    const rate = rateOf(terms[1]?.price ?? expect.fail('The rental was not converted.'));
    const disk = rateOf(rental.diskPrice ?? expect.fail('The disk has no price.'));
    // At most a quarter of the available money is held for the disk.
    const needed = 4n * meteredTotal(disk, 3 * DAY_MS);
    expect(meteredTotal(rate, HOLD_WINDOW_MS)).toBeLessThan(needed);
    expect(requested).toEqual([needed]);
    expect(needed).toBeLessThan(leased);
    expect((await meters(harness, rental)).map(({ retentionMs }) => retentionMs)).toContain(3 * DAY_MS);
    await end(tenant, rental);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    await expectConsistent(harness);
  });

  it('is retried while its money is leased and the lease server does not respond, then starts at the end of the term', async () => {
    const { tenant, rental, endsAt } = await atEndOfTerm();
    expect(await round(rental, away)).toMatchObject({ kind: 'wait', forMs: 15 * SECOND_MS });
    await harness.advance(5 * MINUTE_MS);
    expect(await round(rental, away)).toMatchObject({ kind: 'wait' });
    expect((await viewOf(harness, rental)).rental).toMatchObject({ status: 'Running', endReason: null });
    await reconcileToIdle(harness, rental, { recallMoney: leases.recallFor });
    await expectConverted(rental, endsAt);
    await end(tenant, rental);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });

  it('does not delay tenant actions while it is retried', async () => {
    const { tenant, rental } = await atEndOfTerm();
    await round(rental, away);
    await harness.run(async (tx) =>
      stopRental(tx, await lockRentalView(tx, tenant.orgId, rental.id), {
        ...{ release: false, actor: tenant.call('live').cause.actor },
      }),
    );
    expect(await round(rental, away)).toEqual({ kind: 'again' });
    expect((await viewOf(harness, rental)).rental).toMatchObject({ status: 'Running', power: 'off' });
    await end(tenant, rental);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });

  it('ends the rental at the end of the term if no money is recalled within ten minutes', async () => {
    const { tenant, rental, endsAt } = await atEndOfTerm();
    const unfundedSince = new Map<RentalId, number>();
    expect(await round(rental, away, unfundedSince)).toMatchObject({ kind: 'wait' });
    await harness.advance(10 * MINUTE_MS - 1);
    expect(await round(rental, away, unfundedSince)).toMatchObject({ kind: 'wait' });
    await harness.advance(SECOND_MS);
    expect(await round(rental, away, unfundedSince)).toEqual({ kind: 'again' });
    expect(unfundedSince.size).toBe(0);
    const over = await reconcileUntil(harness, rental, { until: 'Terminated', recallMoney: away });
    expect(over.endReason).toContain('balance does not cover');
    expect(await end(tenant, rental)).toMatchObject({ billingStoppedAt: endsAt });
    await expectConsistent(harness);
  });

  it('is retried for ten minutes even if no worker reconciled it for a day', async () => {
    const { tenant, rental, endsAt } = await atEndOfTerm();
    await harness.advance(DAY_MS);
    expect(await round(rental, away)).toMatchObject({ kind: 'wait', forMs: 15 * SECOND_MS });
    await reconcileToIdle(harness, rental, { recallMoney: leases.recallFor });
    await expectConverted(rental, endsAt);
    await end(tenant, rental);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });

  it('is retried if a part of the money was recalled and the rest is still leased', async () => {
    const { tenant, rental } = await atEndOfTerm();
    const some: RecallCredit = (request) => leases.recallFor({ ...request, amount: 1_000_000_000n });
    expect(await round(rental, some)).toMatchObject({ kind: 'wait' });
    expect((await viewOf(harness, rental)).rental).toMatchObject({ status: 'Running', endReason: null });
    await end(tenant, rental);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });

  it('ends the rental at once if too little is leased', async () => {
    const tenant = await harness.tenant({ balanceUsd: 77 });
    const rental = await startRunningRental(harness, tenant, {
      ...{ termType: 'reserved', termPeriodDays: 1, convertToOnDemandOnExpiry: true },
    });
    const endsAt = later(rental.startedAt, DAY_MS);
    await grantLease(tenant, 10_000_000n);
    await harness.advance(endsAt.getTime() - harness.clock.nowMs());
    expect(await round(rental, away)).toEqual({ kind: 'again' });
    expect((await viewOf(harness, rental)).rental.status).toBe('Terminating');
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });
});
