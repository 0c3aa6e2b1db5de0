import { toUuid } from '@millrace/platform/ids';
import { meteredTotal, nanoUsd } from '@millrace/platform/money';
import { eventually } from '@millrace/testing';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { durationCost, rateOf } from '../../prices/index.ts';
import { reconcileRental } from '../reconcile/reconcile-rental.ts';
import { reconcileToIdle, reconcileUntil, reconcileDepsOf } from '../reconcile/reconcile.fixture.ts';
import { extendTtl, extendTerm } from './extend.service.ts';
import {
  startRunningRental,
  expectConsistent,
  later,
  meters,
  advanceUntil,
  rentalEventTypes,
  viewOf,
} from '../lifecycle.fixture.ts';
import { lockRentalView, terminateRental, type Receipt } from './termination.service.ts';
import { stopRental } from './power.service.ts';
import {
  createRentalHarness,
  DAY_MS,
  HOUR_MS,
  MINUTE_MS,
  usd,
  type Tenant,
} from '../model/rental.fixture.ts';
import { causeOfRental, type Rental } from '../model/rental.ts';

/** Tests how rentals end by request or by time, and their cost to the nano-USD. */

const harness = await createRentalHarness();
await harness.offerTerm(1);
await harness.offerTerm(30);
afterAll(() => harness.drop());
afterEach(() => expectConsistent(harness));

const end = (tenant: Tenant, rental: Rental, reason = 'done'): Promise<Receipt> =>
  harness.run((tx) =>
    terminateRental(tx, tenant.orgId, rental.id, { reason, actor: tenant.call('live').cause.actor }),
  );

const paid = (rental: Rental): Promise<bigint> => harness.paid(rental.orgId, causeOfRental(rental));

/** Checks that no money is held and that the balance fell by exactly the cost. */
async function expectSettled(
  tenant: Tenant,
  rental: Rental,
  cost: bigint,
  before = usd(1_000),
): Promise<void> {
  expect(await paid(rental)).toBe(cost);
  const left = before - cost;
  expect(await harness.balance(tenant.orgId)).toEqual({ balance: left, held: 0n, available: left });
}

const reserved = (termPeriodDays: number, convert: boolean) =>
  ({ termType: 'reserved', termPeriodDays, convertToOnDemandOnExpiry: convert }) as const;

describe('terminateRental', () => {
  it('charges the time used, and returns the same receipt when repeated', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, { gpuCount: 2 });
    await advanceUntil(harness, rental, later(rental.startedAt, 90 * MINUTE_MS + 1));
    await harness.sweepMeters();
    const receipt = await end(tenant, rental);
    const { price } = (await viewOf(harness, rental)).terms[0] ?? expect.fail('The rental has no term.');
    const ranMs = (receipt.billingStoppedAt?.getTime() ?? 0) - (rental.startedAt?.getTime() ?? 0);
    expect(receipt).toMatchObject({
      finalCost: meteredTotal(rateOf(price), ranMs),
      billingStoppedAt: harness.clock.now(),
      commitment: null,
      rental: { status: 'Terminating', task: 'release', endReason: 'done' },
    });
    await harness.clock.advance(5_000);
    expect(await end(tenant, rental, 'again')).toEqual(receipt);
    const over = await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect(await end(tenant, rental)).toEqual({ ...receipt, rental: over });
    await expectSettled(tenant, rental, receipt.finalCost);
    expect((await rentalEventTypes(harness, rental)).filter((type) => type === 'terminating')).toHaveLength(
      1,
    );
  });

  it('charges nothing before the readiness check passed', async () => {
    const tenant = await harness.tenant();
    const rental = await harness.rent(tenant, 'live', { gpuCount: 8 });
    expect((await harness.balance(tenant.orgId)).held).toBeGreaterThan(0n);
    const receipt = await end(tenant, rental);
    expect(receipt).toMatchObject({ billingStoppedAt: null, finalCost: 0n, commitment: null });
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    await expectSettled(tenant, rental, 0n);
  });

  it('charges the quoted amount for 30 reserved days ended after one hour, to the nano-USD', async () => {
    const tenant = await harness.tenant({ balanceUsd: 20_000 });
    const rental = await startRunningRental(harness, tenant, { gpuCount: 3, ...reserved(30, true) });
    const [term] = (await viewOf(harness, rental)).terms;
    const price = term?.price ?? expect.fail('The rental has no term.');
    expect(term?.endsAt).toEqual(later(rental.startedAt, 30 * DAY_MS));
    await advanceUntil(harness, rental, later(rental.startedAt, HOUR_MS));
    await harness.sweepMeters();
    const receipt = await end(tenant, rental);
    const ranMs = (receipt.billingStoppedAt?.getTime() ?? 0) - (rental.startedAt?.getTime() ?? 0);
    const quoted = durationCost(price, ranMs);
    expect(receipt.finalCost).toBe(quoted);
    const whole = BigInt(price.reserve?.committedNanoUsd ?? 0);
    const used = meteredTotal(rateOf(price), ranMs);
    const { owed, refund, refundPercentage } =
      receipt.commitment ?? expect.fail('The receipt has no commitment.');
    expect(refundPercentage).toBe(50);
    expect(used + owed + refund).toBe(whole);
    expect(used + owed).toBe(quoted);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    await expectSettled(tenant, rental, quoted, usd(20_000));
  });

  it('ends and charges once under concurrent terminations, stops and expiry', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, { ttlSeconds: 3_600 });
    const expiresAt = rental.expiresAt ?? expect.fail('The rental has no TTL.');
    await harness.advance(expiresAt.getTime() - harness.clock.nowMs());
    const stop = harness.run(async (tx) => {
      const view = await lockRentalView(tx, tenant.orgId, rental.id);
      return stopRental(tx, view, { release: true, actor: tenant.call('live').cause.actor });
    });
    const all = await Promise.allSettled([
      end(tenant, rental),
      reconcileToIdle(harness, rental),
      stop,
      end(tenant, rental),
      reconcileToIdle(harness, rental),
      end(tenant, rental),
    ]);
    for (const outcome of all) {
      if (outcome.status === 'rejected') {
        expect(outcome.reason).toMatchObject({ reason: expect.stringMatching(/^ACTION_|^ALREADY_/) });
      }
    }
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    const receipts = await Promise.all([end(tenant, rental), end(tenant, rental)]);
    const ranMs = expiresAt.getTime() - (rental.startedAt?.getTime() ?? 0);
    const [meter] = await meters(harness, rental);
    const cost = meteredTotal(meter?.ratePerHour ?? nanoUsd(0n), ranMs);
    expect(receipts.map(({ finalCost }) => finalCost)).toEqual([cost, cost]);
    await expectSettled(tenant, rental, cost);
    expect((await rentalEventTypes(harness, rental)).filter((type) => type === 'terminating')).toHaveLength(
      1,
    );
  });
});

describe('end of a term', () => {
  it('terminates a rental without conversion, with one notice a day and one an hour before', async () => {
    const tenant = await harness.tenant({ balanceUsd: 20_000 });
    const rental = await startRunningRental(harness, tenant, reserved(30, false));
    const endsAt = later(rental.startedAt, 30 * DAY_MS);
    await advanceUntil(harness, rental, later(endsAt, -25 * HOUR_MS));
    expect(await rentalEventTypes(harness, rental)).toEqual(['pending', 'running']);
    for (const before of [24 * HOUR_MS, 20 * HOUR_MS, HOUR_MS, MINUTE_MS]) {
      await advanceUntil(harness, rental, later(endsAt, -before));
      await reconcileToIdle(harness, rental);
    }
    await harness.sweepMeters();
    expect(await rentalEventTypes(harness, rental)).toEqual(['pending', 'running', 'expiring', 'expiring']);
    // The term ends on time although the expiry is processed an hour late.
    await harness.advance(HOUR_MS);
    const over = await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect(over.endReason).toBe('The reserved term ended.');
    const [{ price } = expect.fail('The rental has no term.')] = (await viewOf(harness, rental)).terms;
    const whole = BigInt(price.reserve?.committedNanoUsd ?? 0);
    await expectSettled(tenant, rental, whole, usd(20_000));
    expect(await end(tenant, rental)).toMatchObject({
      finalCost: whole,
      billingStoppedAt: endsAt,
      commitment: null,
    });
    expect((await rentalEventTypes(harness, rental)).slice(4)).toEqual(['terminating', 'terminated']);
  });

  it('converts to the on-demand price frozen with the term, without a gap and with one event', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, reserved(1, true));
    const endsAt = later(rental.startedAt, DAY_MS);
    await advanceUntil(harness, rental, later(endsAt, 10 * MINUTE_MS));
    await Promise.all([reconcileToIdle(harness, rental), reconcileToIdle(harness, rental)]);
    const { terms } = await viewOf(harness, rental);
    expect(terms.map(({ termType, effectiveAt }) => [termType, effectiveAt])).toEqual([
      ['reserved', rental.startedAt],
      ['on-demand', endsAt],
    ]);
    await harness.sweepMeters();
    await advanceUntil(harness, rental, later(endsAt, 2 * HOUR_MS));
    const receipt = await end(tenant, rental);
    const [first, second] = terms;
    const ranMs = (receipt.billingStoppedAt?.getTime() ?? 0) - endsAt.getTime();
    const cost =
      BigInt(first?.price.reserve?.committedNanoUsd ?? 0) +
      meteredTotal(rateOf(second?.price ?? expect.fail('The rental was not converted.')), ranMs);
    expect(second?.price.rateNanoUsdPerHour).toBe(first?.price.reserve?.onDemandNanoUsdPerHour);
    expect(receipt).toMatchObject({ finalCost: cost, commitment: null });
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    await expectSettled(tenant, rental, cost);
    expect((await rentalEventTypes(harness, rental)).filter((type) => type === 'converted')).toHaveLength(1);
  });

  it('terminates the rental if the balance does not cover on-demand billing, and charges nothing more', async () => {
    const tenant = await harness.tenant({ balanceUsd: 77 });
    const rental = await startRunningRental(harness, tenant, reserved(1, true));
    const endsAt = later(rental.startedAt, DAY_MS);
    await advanceUntil(harness, rental, later(endsAt, 5 * MINUTE_MS));
    const over = await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect(over.endReason).toContain('balance does not cover');
    const [{ price } = expect.fail('The rental has no term.')] = (await viewOf(harness, rental)).terms;
    await expectSettled(tenant, rental, BigInt(price.reserve?.committedNanoUsd ?? 0), usd(77));
    expect(await end(tenant, rental)).toMatchObject({ billingStoppedAt: endsAt });
  });

  it('does not hold ledger locks while it terminates a rental that cannot convert', async () => {
    const tenant = await harness.tenant({ balanceUsd: 77 });
    const rental = await startRunningRental(harness, tenant, reserved(1, true));
    const endsAt = later(rental.startedAt, DAY_MS);
    await harness.advance(endsAt.getTime() - harness.clock.nowMs());
    const other = await harness.database.connect();
    try {
      // The termination waits for this row. Meanwhile it must not hold locks on the organisation's accounts.
      await other.query('begin');
      await other.query('select 1 from rental_machines where rental_id = $1 for update', [toUuid(rental.id)]);
      const ending = reconcileToIdle(harness, rental);
      await eventually({ what: 'the termination to wait for the machine row' }, async () => {
        const { rows } = await other.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return rows.length > 0;
      });
      const accounts = 'select 1 from ledger_accounts where org_id = $1 for update nowait';
      await other.query(accounts, [toUuid(tenant.orgId)]);
      await other.query('rollback');
      await ending;
    } finally {
      await other.end();
    }
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });
});

describe('extension', () => {
  const byTenant = (tenant: Tenant) => ({
    actor: tenant.call('live').cause.actor,
    limits: { maxRentalSeconds: null },
  });
  const extend = (tenant: Tenant, rental: Rental, days: number) =>
    harness.run(async (tx) =>
      extendTerm(tx, await lockRentalView(tx, tenant.orgId, rental.id), days, byTenant(tenant)),
    );

  it('is held at once, starts at the end of the last term, and costs its whole price', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, reserved(1, false));
    const { held } = await harness.balance(tenant.orgId);
    await extend(tenant, rental, 1);
    expect((await harness.balance(tenant.orgId)).held).toBe(2n * held);
    const [known] = await harness.rows<{ frees_at: Date }>(
      `select frees_at from allocations where external_id = '${toUuid(rental.id)}' and state = 'live'`,
    );
    expect(known?.frees_at).toEqual(later(rental.startedAt, 2 * DAY_MS));
    const firstEnd = later(rental.startedAt, DAY_MS);
    await advanceUntil(harness, rental, later(firstEnd, HOUR_MS));
    const { terms } = await viewOf(harness, rental);
    expect(terms.map(({ effectiveAt, endsAt }) => [effectiveAt, endsAt])).toEqual([
      [rental.startedAt, firstEnd],
      [firstEnd, later(firstEnd, DAY_MS)],
    ]);
    await harness.advance(2 * DAY_MS);
    const over = await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect(over.endReason).toBe('The reserved term ended.');
    await expectSettled(tenant, rental, 2n * held);
  });

  it('that never started is released when the rental ends', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, reserved(1, true));
    await extend(tenant, rental, 1);
    await advanceUntil(harness, rental, later(rental.startedAt, HOUR_MS));
    const { finalCost, commitment } = await end(tenant, rental);
    const [{ price } = expect.fail('The rental has no term.')] = (await viewOf(harness, rental)).terms;
    expect(finalCost).toBeLessThan(BigInt(price.reserve?.committedNanoUsd ?? 0));
    expect(commitment).not.toBeNull();
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    await expectSettled(tenant, rental, finalCost);
  });

  it('of a Pending rental starts at the end of its first term', async () => {
    const tenant = await harness.tenant();
    const accepted = await harness.rent(tenant, 'live', reserved(1, true));
    await extend(tenant, accepted, 1);
    const rental = await reconcileUntil(harness, accepted, { until: 'Running' });
    await advanceUntil(harness, rental, later(rental.startedAt, DAY_MS));
    expect((await viewOf(harness, rental)).terms[1]?.effectiveAt).toEqual(later(rental.startedAt, DAY_MS));
    await end(tenant, rental);
  });

  it('is rejected on demand, after the end, above the spending limit, and without sufficient balance', async () => {
    const tenant = await harness.tenant();
    const onDemand = await startRunningRental(harness, tenant);
    await expect(extend(tenant, onDemand, 1)).rejects.toMatchObject({ reason: 'TERM_NOT_EXTENDABLE' });
    await end(tenant, onDemand);
    const poor = await harness.tenant({ balanceUsd: 100 });
    const capped = await harness.tenant();
    const one = await startRunningRental(harness, poor, reserved(1, true));
    await expect(extend(poor, one, 1)).rejects.toMatchObject({ reason: 'INSUFFICIENT_BALANCE' });
    await expect(extend(poor, one, 7)).rejects.toMatchObject({ reason: 'RESERVE_OPTION_NOT_FOUND' });
    const two = await startRunningRental(harness, capped, { ...reserved(1, true), maxUsd: 100 });
    await expect(extend(capped, two, 1)).rejects.toMatchObject({ reason: 'MAX_USD_EXCEEDED' });
    await harness.clock.advance(DAY_MS);
    await expect(extend(capped, two, 1)).rejects.toMatchObject({ reason: 'TERM_NOT_EXTENDABLE' });
    await end(poor, one);
    await end(capped, two);
  });

  it('of a TTL moves the expiry, and requires a TTL', async () => {
    const tenant = await harness.tenant();
    const more = (rental: Rental) =>
      harness.run(async (tx) =>
        extendTtl(tx, await lockRentalView(tx, tenant.orgId, rental.id), 600, byTenant(tenant)),
      );
    const rental = await startRunningRental(harness, tenant, { ttlSeconds: 3_600 });
    const extended = await more(rental);
    expect(extended.expiresAt).toEqual(later(rental.expiresAt, 600_000));
    const endless = await startRunningRental(harness, tenant);
    await expect(more(endless)).rejects.toMatchObject({ reason: 'TERM_NOT_EXTENDABLE' });
    await harness.clock.advance(2 * HOUR_MS);
    await expect(more(rental)).rejects.toMatchObject({ reason: 'TERM_NOT_EXTENDABLE' });
    await end(tenant, rental);
    await end(tenant, endless);
  });
});

describe('tenant limits', () => {
  it.each([
    ['processed in time', 0],
    ['processed late', 10 * MINUTE_MS],
  ])('spending limit is never exceeded, %s', async (_, lateMs) => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, { maxUsd: 1.234567891 });
    const [meter] = await meters(harness, rental);
    const rate = meter?.ratePerHour ?? expect.fail('The rental has no meter.');
    const lastMs = Number((1_234_567_892n * 3_600_000n - 1n) / rate);
    await harness.advance(later(rental.startedAt, lastMs - 1).getTime() - harness.clock.nowMs());
    const round = await reconcileRental(
      reconcileDepsOf(harness),
      rental.orgId,
      rental.id,
      new AbortController().signal,
    );
    expect(round).toMatchObject({ kind: 'wait', until: later(rental.startedAt, lastMs) });
    await harness.advance(1 + lateMs);
    if (lateMs > 0) await harness.sweepMeters();
    const over = await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect(over.endReason).toBe('The spending limit (maxUsd) was reached.');
    const cost = meteredTotal(rate, lastMs);
    expect(cost).toBeLessThanOrEqual(1_234_567_891n);
    expect(meteredTotal(rate, lastMs + 1)).toBeGreaterThan(1_234_567_891n);
    await expectSettled(tenant, rental, cost);
  });

  it('TTL ends the rental once at that instant, even if the expiry is processed late', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, { ttlSeconds: 7_200 });
    const expiresAt = rental.expiresAt ?? expect.fail('The rental has no TTL.');
    await advanceUntil(harness, rental, later(expiresAt, -HOUR_MS));
    expect(await rentalEventTypes(harness, rental)).toEqual(['pending', 'running', 'expiring']);
    await harness.advance(HOUR_MS + 10 * MINUTE_MS);
    await Promise.all([1, 2, 3].map(() => reconcileUntil(harness, rental, { until: 'Terminated' })));
    const [meter] = await meters(harness, rental);
    const ranMs = expiresAt.getTime() - (rental.startedAt?.getTime() ?? 0);
    await expectSettled(tenant, rental, meteredTotal(meter?.ratePerHour ?? nanoUsd(0n), ranMs));
    expect((await rentalEventTypes(harness, rental)).slice(3)).toEqual(['terminating', 'terminated']);
  });
});
