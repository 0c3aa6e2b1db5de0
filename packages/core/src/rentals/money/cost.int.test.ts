import type { Mode } from '@millrace/platform/envelope';
import { meteredTotal, nanoUsd } from '@millrace/platform/money';
import { createRandom } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { listTransfersOf } from '../../ledger/index.ts';
import { listMetersOf, pauseMeter, resumeMeter, type Meter } from '../../metering/index.ts';
import type { ListPriceOrder } from '../order/order.ts';
import { createRental } from '../order/accept-order.service.ts';
import { reconcileUntil } from '../reconcile/reconcile.fixture.ts';
import { terminateRental } from '../actions/termination.service.ts';
import { getRentalCost, getRentalRecord, type RentalCostWithHold } from '../read/rental-queries.service.ts';
import {
  createRentalHarness,
  DAY_MS,
  GPU_HOUR,
  HOUR_MS,
  liveRegion,
  MINUTE_MS,
  type Tenant,
} from '../model/rental.fixture.ts';
import { causeOfRental, type Rental } from '../model/rental.ts';

let nextWireId = 1;
const harness = await createRentalHarness();
afterAll(() => harness.drop());

const order: ListPriceOrder = {
  kind: 'virtual-machine',
  region: liveRegion,
  gpuType: 'h100',
  machine: null,
  gpusPerNode: 3,
  nodeCount: 1,
  connectionType: 'ethernet',
  cuda: null,
  termType: 'on-demand',
  termPeriodDays: null,
  discountPercentage: 0,
  convertOnExpiry: true,
  monitoring: false,
  customPorts: [],
  name: null,
  label: null,
  tags: {},
  image: null,
  userData: null,
  sshKeys: 'all',
  ttlSeconds: null,
  maxUsd: null,
  idle: null,
};

async function accept(
  tenant: Tenant,
  fields: Partial<ListPriceOrder> = {},
  mode: Mode = 'live',
): Promise<Rental> {
  await harness.watch();
  const wireId = nextWireId++;
  return harness.run((tx) => createRental(tx, tenant.call(mode), { ...order, ...fields }, wireId));
}

const rent = async (...request: Parameters<typeof accept>): Promise<Rental> =>
  reconcileUntil(harness, await accept(...request), { until: 'Running' });

/** Checks the invariants of the cost at the present instant and returns the cost. */
async function checked(rental: Rental): Promise<RentalCostWithHold> {
  const { orgId, mode, wireId } = rental;
  const now = harness.clock.now();
  const cost = await getRentalCost(harness.db, { orgId, mode }, wireId, now);
  if (cost === null) throw new Error('The rental does not exist.');
  const transfers = await listTransfersOf(harness.db, orgId, mode, causeOfRental(rental));
  expect(cost.posted).toBe(await harness.paid(orgId, causeOfRental(rental)));
  expect(cost.lines.reduce((sum, line) => sum + line.amount, 0n)).toBe(cost.total);
  // Every transfer is in exactly one line.
  expect(cost.lines.flatMap(({ transferIds }) => transferIds).toSorted()).toEqual(
    transfers.map(({ id }) => id).toSorted(),
  );
  expect((await getRentalRecord(harness.db, { orgId, mode }, wireId, now))?.cost).toBe(cost.total);
  return cost;
}

async function meterOf(rental: Rental): Promise<Meter> {
  const [meter] = await listMetersOf(harness.db, rental.orgId, rental.mode, causeOfRental(rental));
  if (meter === undefined) throw new Error('The rental has no meter.');
  return meter;
}

const linesOf = (cost: RentalCostWithHold) => cost.lines.map(({ meter }) => meter);

describe('rental cost', () => {
  it.each([1, 2, 3])(
    'equals posted charges plus unposted time to the nano-USD at any instant, also with pauses (seed %i)',
    async (seed) => {
      const random = createRandom(seed);
      const tenant = await harness.tenant({ balanceUsd: 100_000 });
      const rental = await rent(tenant);
      const { id, ratePerHour } = await meterOf(rental);
      // Expected values, computed independently of the meter.
      let ranMs = 0;
      let since: number | null = rental.startedAt?.getTime() ?? 0;
      for (let round = 0; round < 25; round += 1) {
        await harness.clock.advance(random.int(1, 2 * HOUR_MS));
        const nowMs = harness.clock.nowMs();
        const action = random.pick(['sweep', 'sweep', 'pause', 'resume', 'look'] as const);
        if (action === 'sweep') await harness.sweepMeters();
        if (action === 'pause' && since !== null) {
          // A pause found late: part of the charged time is credited.
          const atMs = Math.max(since, nowMs - random.int(0, 3 * HOUR_MS));
          await harness.run((tx) => pauseMeter(tx, rental.orgId, id, new Date(atMs)));
          ranMs += atMs - since;
          since = null;
        } else if (action === 'resume' && since === null) {
          await harness.run((tx) => resumeMeter(tx, rental.orgId, id, new Date(nowMs)));
          since = nowMs;
        }
        const elapsedMs = ranMs + (since === null ? 0 : nowMs - since);
        expect((await checked(rental)).total).toBe(meteredTotal(ratePerHour, elapsedMs));
      }
      const { finalCost } = await harness.run((tx) =>
        terminateRental(tx, rental.orgId, rental.id, {
          actor: { kind: 'system', id: 'test' },
          reason: 'done',
        }),
      );
      const last = await checked(rental);
      expect([last.total, last.posted, last.held]).toEqual([finalCost, finalCost, 0n]);
      expect(last.liveTotal).toBeNull();
    },
  );

  it('has a credit line for time that was charged and then credited', async () => {
    const tenant = await harness.tenant();
    const rental = await rent(tenant);
    const meter = await meterOf(rental);
    await harness.clock.advance(2 * HOUR_MS);
    await harness.sweepMeters();
    const at = new Date(harness.clock.nowMs() - 30 * MINUTE_MS);
    await harness.run((tx) => pauseMeter(tx, rental.orgId, meter.id, at));
    const cost = await checked(rental);
    expect(linesOf(cost)).toEqual(['gpu', 'credit']);
    const [charged, back] = cost.lines;
    expect(back?.seconds).toBe(1_800);
    expect(charged?.amount).toBe(meteredTotal(meter.ratePerHour, (charged?.seconds ?? 0) * 1_000));
    expect(back?.amount).toBeLessThan(0n);
  });

  it('is zero before Running, with the hold of the create request as held', async () => {
    const tenant = await harness.tenant();
    const rental = await accept(tenant);
    const { total, posted, held, lines } = await checked(rental);
    expect([total, posted, lines]).toEqual([0n, 0n, []]);
    expect(held).toBe((await harness.balance(tenant.orgId)).held);
    expect(held).toBeGreaterThan(0n);
  });

  it('has a term line for the remaining term that is owed after an early termination', async () => {
    await harness.offerTerm(30);
    const tenant = await harness.tenant({ balanceUsd: 100_000 });
    const rental = await rent(tenant, { termType: 'reserved', termPeriodDays: 30 });
    await harness.clock.advance(HOUR_MS);
    const before = await checked(rental);
    expect(linesOf(before)).toEqual(['gpu']);
    const receipt = await harness.run((tx) =>
      terminateRental(tx, rental.orgId, rental.id, { actor: { kind: 'system', id: 'test' }, reason: 'done' }),
    );
    const cost = await checked(rental);
    expect(linesOf(cost)).toEqual(['gpu', 'term']);
    expect(cost.lines[1]).toMatchObject({
      seconds: (30 * DAY_MS - HOUR_MS) / 1_000,
      amount: receipt.commitment?.owed,
    });
    expect(cost.total).toBe(receipt.finalCost);
  });

  it('excludes the shortfall that the operator absorbed', async () => {
    const tenant = await harness.tenant({ balanceUsd: 20 });
    const rental = await rent(tenant);
    // No sweep runs until the balance is exceeded; the operator absorbs the difference.
    await harness.clock.advance(48 * HOUR_MS);
    await harness.sweepMeters();
    const { total, posted } = await checked(rental);
    expect(posted).toBe(nanoUsd(20_000_000_000n));
    expect(total).toBe(posted);
    const { finalCost } = await harness.run((tx) =>
      terminateRental(tx, rental.orgId, rental.id, {
        actor: { kind: 'system', id: 'test' },
        reason: 'done',
      }),
    );
    expect([finalCost, (await checked(rental)).total]).toEqual([posted, posted]);
  });

  it('is zero in test mode', async () => {
    const tenant = await harness.tenant();
    const rental = await rent(tenant, { region: 'mock-region' }, 'test');
    await harness.clock.advance(DAY_MS);
    const { total, held, lines, liveTotal } = await checked(rental);
    expect([total, held]).toEqual([0n, 0n]);
    // The same day of three GPUs in live mode.
    expect(liveTotal).toBe(meteredTotal(nanoUsd(3n * GPU_HOUR), DAY_MS));
    expect(lines).toMatchObject([{ meter: 'gpu', seconds: DAY_MS / 1_000, amount: 0n, transferIds: [] }]);
  });
});
