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

/** How rentals end, by anybody and by the clock, and what they have cost then, to the nano-USD. */

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

/** Nothing is set aside any more, and all that is gone is what the rental cost. */
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

describe('a rental that its tenant ends', () => {
  it('costs what ran, and ending it again answers the same receipt', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, { gpuCount: 2 });
    await advanceUntil(harness, rental, later(rental.startedAt, 90 * MINUTE_MS + 1));
    await harness.sweepMeters();
    const receipt = await end(tenant, rental);
    const { price } = (await viewOf(harness, rental)).terms[0] ?? expect.fail('It has no term.');
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

  it('costs nothing before it was proven usable', async () => {
    const tenant = await harness.tenant();
    const rental = await harness.rent(tenant, 'live', { gpuCount: 8 });
    expect((await harness.balance(tenant.orgId)).held).toBeGreaterThan(0n);
    const receipt = await end(tenant, rental);
    expect(receipt).toMatchObject({ billingStoppedAt: null, finalCost: 0n, commitment: null });
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    await expectSettled(tenant, rental, 0n);
  });

  it('reserved for 30 days and ended after one hour costs what was quoted, to the nano-USD', async () => {
    const tenant = await harness.tenant({ balanceUsd: 20_000 });
    const rental = await startRunningRental(harness, tenant, { gpuCount: 3, ...reserved(30, true) });
    const [term] = (await viewOf(harness, rental)).terms;
    const price = term?.price ?? expect.fail('It has no term.');
    expect(term?.endsAt).toEqual(later(rental.startedAt, 30 * DAY_MS));
    await advanceUntil(harness, rental, later(rental.startedAt, HOUR_MS));
    await harness.sweepMeters();
    const receipt = await end(tenant, rental);
    const ranMs = (receipt.billingStoppedAt?.getTime() ?? 0) - (rental.startedAt?.getTime() ?? 0);
    const quoted = durationCost(price, ranMs);
    expect(receipt.finalCost).toBe(quoted);
    const whole = BigInt(price.reserve?.committedNanoUsd ?? 0);
    const used = meteredTotal(rateOf(price), ranMs);
    const { owed, refund, refundPercentage } = receipt.commitment ?? expect.fail('Nothing was committed.');
    expect(refundPercentage).toBe(50);
    expect(used + owed + refund).toBe(whole);
    expect(used + owed).toBe(quoted);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    await expectSettled(tenant, rental, quoted, usd(20_000));
  });

  it('ends once, and costs once, however many end it, stop it and look at its clock at once', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, { ttlSeconds: 3_600 });
    const expiresAt = rental.expiresAt ?? expect.fail('It has no time to live.');
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

describe('a term that runs out', () => {
  it('ends the rental where nothing was said to follow, told a day and an hour before, each once', async () => {
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
    // Nobody looks for a while: the term ends when it ends all the same.
    await harness.advance(HOUR_MS);
    const over = await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect(over.endReason).toBe('Its reserved term ended.');
    const [{ price } = expect.fail('It has no term.')] = (await viewOf(harness, rental)).terms;
    const whole = BigInt(price.reserve?.committedNanoUsd ?? 0);
    await expectSettled(tenant, rental, whole, usd(20_000));
    expect(await end(tenant, rental)).toMatchObject({
      finalCost: whole,
      billingStoppedAt: endsAt,
      commitment: null,
    });
    expect((await rentalEventTypes(harness, rental)).slice(4)).toEqual(['terminating', 'terminated']);
  });

  it('goes on at the price on demand that was frozen with it, without a gap, told once', async () => {
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
      meteredTotal(rateOf(second?.price ?? expect.fail('It did not go on.')), ranMs);
    expect(second?.price.rateNanoUsdPerHour).toBe(first?.price.reserve?.onDemandNanoUsdPerHour);
    expect(receipt).toMatchObject({ finalCost: cost, commitment: null });
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    await expectSettled(tenant, rental, cost);
    expect((await rentalEventTypes(harness, rental)).filter((type) => type === 'converted')).toHaveLength(1);
  });

  it('ends the rental where the money to go on is not there, and costs nothing after it', async () => {
    const tenant = await harness.tenant({ balanceUsd: 77 });
    const rental = await startRunningRental(harness, tenant, reserved(1, true));
    const endsAt = later(rental.startedAt, DAY_MS);
    await advanceUntil(harness, rental, later(endsAt, 5 * MINUTE_MS));
    const over = await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect(over.endReason).toContain('does not cover going on');
    const [{ price } = expect.fail('It has no term.')] = (await viewOf(harness, rental)).terms;
    await expectSettled(tenant, rental, BigInt(price.reserve?.committedNanoUsd ?? 0), usd(77));
    expect(await end(tenant, rental)).toMatchObject({ billingStoppedAt: endsAt });
  });

  it('holds no lock of the ledger while it ends a rental that cannot go on', async () => {
    const tenant = await harness.tenant({ balanceUsd: 77 });
    const rental = await startRunningRental(harness, tenant, reserved(1, true));
    const endsAt = later(rental.startedAt, DAY_MS);
    await harness.advance(endsAt.getTime() - harness.clock.nowMs());
    const other = await harness.database.connect();
    try {
      // The end needs this row. While it waits for the row, money of the organisation must not wait for the end.
      await other.query('begin');
      await other.query('select 1 from rental_machines where rental_id = $1 for update', [toUuid(rental.id)]);
      const ending = reconcileToIdle(harness, rental);
      await eventually({ what: 'the end to wait for the machine' }, async () => {
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

describe('an extension', () => {
  const byTenant = (tenant: Tenant) => ({
    actor: tenant.call('live').cause.actor,
    limits: { maxRentalSeconds: null },
  });
  const extend = (tenant: Tenant, rental: Rental, days: number) =>
    harness.run(async (tx) =>
      extendTerm(tx, await lockRentalView(tx, tenant.orgId, rental.id), days, byTenant(tenant)),
    );

  it('is set aside at once, begins where the last term ended, and costs its whole price', async () => {
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
    expect(over.endReason).toBe('Its reserved term ended.');
    await expectSettled(tenant, rental, 2n * held);
  });

  it('that never began is given back when the rental ends', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, reserved(1, true));
    await extend(tenant, rental, 1);
    await advanceUntil(harness, rental, later(rental.startedAt, HOUR_MS));
    const { finalCost, commitment } = await end(tenant, rental);
    const [{ price } = expect.fail('It has no term.')] = (await viewOf(harness, rental)).terms;
    expect(finalCost).toBeLessThan(BigInt(price.reserve?.committedNanoUsd ?? 0));
    expect(commitment).not.toBeNull();
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    await expectSettled(tenant, rental, finalCost);
  });

  it('of a rental that is not up yet begins when its first term has ended', async () => {
    const tenant = await harness.tenant();
    const accepted = await harness.rent(tenant, 'live', reserved(1, true));
    await extend(tenant, accepted, 1);
    const rental = await reconcileUntil(harness, accepted, { until: 'Running' });
    await advanceUntil(harness, rental, later(rental.startedAt, DAY_MS));
    expect((await viewOf(harness, rental)).terms[1]?.effectiveAt).toEqual(later(rental.startedAt, DAY_MS));
    await end(tenant, rental);
  });

  it('is refused on demand, after the end, beyond the limit of cost, and without the money', async () => {
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

  it('of a time to live moves its end, and there must be one', async () => {
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

describe('limits that the tenant set', () => {
  it.each([
    ['noticed in time', 0],
    ['noticed late', 10 * MINUTE_MS],
  ])('of cost are never exceeded, %s', async (_, lateMs) => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, { maxUsd: 1.234567891 });
    const [meter] = await meters(harness, rental);
    const rate = meter?.ratePerHour ?? expect.fail('It has no meter.');
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
    expect(over.endReason).toBe('It reached the most it may cost.');
    const cost = meteredTotal(rate, lastMs);
    expect(cost).toBeLessThanOrEqual(1_234_567_891n);
    expect(meteredTotal(rate, lastMs + 1)).toBeGreaterThan(1_234_567_891n);
    await expectSettled(tenant, rental, cost);
  });

  it('of time end it at that instant, however late anyone looks, and once', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, { ttlSeconds: 7_200 });
    const expiresAt = rental.expiresAt ?? expect.fail('It has no time to live.');
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
