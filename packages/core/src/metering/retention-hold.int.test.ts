import type { OrgId } from '@millrace/platform/ids';
import { affordableMs, nanoUsd } from '@millrace/platform/money';
import { uniqueId } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { applyLedger, requireLedgerSuccess } from '../ledger/index.ts';
import type { MeterSpec } from './index.ts';
import type { Meter } from './meter.ts';
import { lockRunningMeters } from './meters.store.ts';
import { createMeteringHarness, HOUR_MS, MINUTE_MS, usd } from './metering.fixture.ts';

const harness = await createMeteringHarness();
const { actionsOf, events, pass } = harness;
afterAll(() => harness.drop());

const isolation = 'read committed';
const largeDiskPerHour = usd(0.4);

/** An order of a rental, with the hold that an order places: 75 minutes, without retention. */
async function placeOrder(orgId: OrgId): Promise<Partial<MeterSpec>> {
  const cause = { kind: 'rental', id: uniqueId() };
  const order = { orgId, mode: 'live', cause, step: 'create', amount: usd(4.5), demand: 'new' } as const;
  const [held] = await harness.db.transaction({ name: 'order', isolation }, (tx) =>
    applyLedger(tx, [{ do: 'hold', ...order }]),
  );
  return { cause, holdId: requireLedgerSuccess(held).holdId };
}

/** Opens the meter of an order. Its retention costs more than the order. */
function openOrder(orgId: OrgId, order: Partial<MeterSpec>, retentionMs = 72 * HOUR_MS): Promise<Meter> {
  return harness.open(orgId, {
    ...order,
    funding: { kind: 'ahead', retentionMs, retentionRatePerHour: largeDiskPerHour },
  });
}

/** How long a quarter of the available money and one order's hold pays for the retention. */
async function affordableRetentionMs(orgId: OrgId): Promise<number> {
  const { available } = await harness.balance(orgId);
  return Number(affordableMs(nanoUsd((available + usd(4.5)) / 4n), largeDiskPerHour));
}

describe('order whose hold does not contain the retention', () => {
  it('holds the retention from the start of billing, and is not stopped', async () => {
    const orgId = await harness.organisation(1_000);
    const meter = await openOrder(orgId, await placeOrder(orgId));
    expect(meter.held).toBe(usd(4.5 + 0.4 * 72));
    expect((await harness.balance(orgId)).held).toBe(meter.held);
    await pass(50_000, 10_000);
    expect(await actionsOf(orgId)).toEqual([]);
    await pass(3 * HOUR_MS, 30_000);
    expect(await actionsOf(orgId)).toEqual([]);
    expect((await harness.balance(orgId)).held).toBeGreaterThan(usd(0.4 * 72));
    await harness.close(meter);
  });

  it.each(['one after the other', 'at once'])(
    'is not stopped if several orders start %s with money for the retention of only some',
    async (how) => {
      // Enough for any one order with its whole retention.
      const orgId = await harness.organisation(4 * 0.4 * 72 + 1);
      const orders = [];
      for (let nth = 0; nth < 6; nth += 1) orders.push(await placeOrder(orgId));
      const retentionMs = await affordableRetentionMs(orgId);
      const meters: Meter[] = [];
      if (how === 'at once') {
        meters.push(...(await Promise.all(orders.map((order) => openOrder(orgId, order, retentionMs)))));
      } else {
        for (const order of orders) {
          meters.push(await openOrder(orgId, order, await affordableRetentionMs(orgId)));
        }
      }
      await pass(10 * MINUTE_MS, 10_000);
      expect(await actionsOf(orgId)).toEqual([]);
      expect(await events(orgId)).not.toContain('balance.floor');
      // The holds cover the retention that was promised, and most of the time that was ordered.
      const open = await harness.db.transaction({ name: 'lock', isolation }, (tx) =>
        lockRunningMeters(tx, orgId, 'live'),
      );
      expect(open).toHaveLength(orders.length);
      for (const meter of open) {
        expect(meter.coveredUntil?.getTime()).toBeGreaterThan(
          meter.openedAt.getTime() + 45 * MINUTE_MS + meter.retentionMs,
        );
      }
      for (const meter of meters) await harness.close(meter);
      expect((await harness.balance(orgId)).held).toBe(0n);
    },
  );

  it('holds the retention once if its meter is opened twice at once', async () => {
    const orgId = await harness.organisation(1_000);
    const order = await placeOrder(orgId);
    const [meter, same] = await Promise.all([openOrder(orgId, order), openOrder(orgId, order)]);
    expect(same.id).toBe(meter.id);
    expect((await openOrder(orgId, order)).held).toBe(meter.held);
    expect((await harness.balance(orgId)).held).toBe(meter.held);
    await harness.close(meter);
  });

  it('is retained for less time if a budget has too little, and is stopped when the budget is used', async () => {
    const orgId = await harness.organisation(1_000);
    await harness.createStoppingBudget(orgId, usd(10));
    const meter = await openOrder(orgId, await placeOrder(orgId));
    expect(meter).toMatchObject({ held: usd(10), retentionMs: (5.5 / 0.4) * HOUR_MS });
    await pass(70 * MINUTE_MS);
    expect(await actionsOf(orgId)).toEqual([]);
    await pass(5 * MINUTE_MS);
    expect(await actionsOf(orgId)).toMatchObject([{ action: 'stop', reason: 'budget' }]);
    await harness.close(meter);
  });
});
