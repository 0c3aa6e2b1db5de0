import { createIdSource, toUuid } from '@millrace/platform/ids';
import { meteredTotal, nanoUsd, ppm } from '@millrace/platform/money';
import { createRandom, databaseWithClock } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { applyLedger, findHold, requireLedgerSuccess } from '../ledger/index.ts';
import { readBurnRate, readMeterCost, openMeters, sweepMeters, type Meter } from './index.ts';
import { nextPostingTime } from './meter.ts';
import { allShards, createMeteringHarness, HOUR_MS, MINUTE_MS, quiet, usd } from './metering.fixture.ts';

const harness = await createMeteringHarness();
afterAll(() => harness.drop());

const later = (at: Date, ms: number): Date => new Date(at.getTime() + ms);

async function heldFor(meter: Meter): Promise<bigint | null> {
  if (meter.holdId === null) return null;
  const hold = await findHold(harness.db, meter.orgId, meter.holdId);
  return hold === null || hold.closed ? null : hold.held;
}

describe('meter', () => {
  it('costs rate × time for any sequence of sweeps, pauses and resumes', async () => {
    const seeds = [1, 2, 3, 4, 5, 6];
    for (const seed of seeds) {
      const random = createRandom(seed);
      const orgId = await harness.organisation(1_000);
      const ratePerHour = nanoUsd(BigInt(random.int(1, 9_999_999_999)));
      const meter = await harness.open(orgId, { ratePerHour });
      let elapsedMs = 0;
      let running = true;
      for (let turn = 0; turn < 12; turn += 1) {
        const ms = random.int(1, 2 * HOUR_MS);
        await harness.clock.advance(ms);
        if (running) elapsedMs += ms;
        const action = random.pick(['sweep', 'sweep', 'pause', 'resume']);
        if (action === 'sweep') await harness.sweep();
        else if (action === 'pause') {
          await harness.pause(meter);
          running = false;
        } else {
          await harness.resume(meter);
          running = true;
        }
      }
      const { finalCost } = await harness.close(meter);
      expect(finalCost).toBe(meteredTotal(ratePerHour, elapsedMs));
      expect(await harness.paid(orgId, meter.cause)).toBe(finalCost);
      expect(await harness.balance(orgId)).toMatchObject({ held: 0n });
    }
  });

  it('is posted hourly with its usage, and holds the next hour and the margin', async () => {
    const orgId = await harness.organisation(100);
    const meter = await harness.open(orgId);
    for (let minute = 0; minute < 3 * 60; minute += 1) {
      await harness.clock.advance(MINUTE_MS);
      await harness.sweep();
    }
    const charges = await harness.transfers(orgId, meter.cause);
    expect(charges).toHaveLength(3);
    expect(charges.slice(0, 2)).toEqual([
      expect.objectContaining({ kind: 'charge', amount: usd(-3.6), usage: { gpuMs: 8 * HOUR_MS } }),
      expect.objectContaining({ kind: 'charge', amount: usd(-3.6), usage: { gpuMs: 8 * HOUR_MS } }),
    ]);
    // The hold covers the next posting and 15 minutes, counted from a sweep at most a minute after the slot.
    const held = Number(await heldFor(meter));
    expect(held).toBeGreaterThan(Number(usd(4.5 - 0.06)));
    expect(held).toBeLessThanOrEqual(Number(usd(4.5)));
    expect(await readBurnRate(harness.db, orgId, 'live', harness.clock.now())).toMatchObject({
      burnPerHour: usd(3.6),
    });
    const { cost } = await readMeterCost(harness.db, orgId, 'live', meter.cause, harness.clock.now());
    expect(cost).toBe(usd(10.8));
    await harness.close(meter);
  });

  it('opened twice under one name is one meter with one hold', async () => {
    const orgId = await harness.organisation(100);
    const spec = harness.meterSpec();
    const both = await Promise.all(
      [1, 2].map(() =>
        harness.db.transaction({ name: 'open', isolation: 'read committed' }, (tx) =>
          openMeters(tx, orgId, [spec]),
        ),
      ),
    );
    expect(both[0]?.[0]?.id).toBe(both[1]?.[0]?.id);
    const [meter] = both[0] ?? [];
    expect(meter).toBeDefined();
    expect((await harness.balance(orgId)).held).toBe(meter?.held);
    const again = await harness.open(orgId, spec);
    expect(again.id).toBe(meter?.id);
    await harness.close(again);
    expect(await harness.open(orgId, spec)).toMatchObject({ id: again.id, state: 'closed' });
  });

  it('is refused and not created if the balance does not cover its hold', async () => {
    const orgId = await harness.organisation(0);
    const spec = harness.meterSpec();
    await expect(harness.open(orgId, spec)).rejects.toMatchObject({ reason: 'INSUFFICIENT_BALANCE' });
    expect((await readMeterCost(harness.db, orgId, 'live', spec.cause, harness.clock.now())).meters).toEqual(
      [],
    );
  });

  it('adopts the hold that was placed for its resource, and no other', async () => {
    const orgId = await harness.organisation(100);
    const spec = harness.meterSpec();
    const [held] = await harness.db.transaction({ name: 'hold', isolation: 'read committed' }, (tx) =>
      applyLedger(tx, [
        { do: 'hold', orgId, mode: 'live', cause: spec.cause, step: 'create', amount: usd(2), demand: 'new' },
      ]),
    );
    const { holdId } = requireLedgerSuccess(held);
    if (holdId === null) throw new Error('no hold');
    await expect(harness.open(orgId, { holdId })).rejects.toThrow(/no open hold/);
    const meter = await harness.open(orgId, { ...spec, holdId });
    expect(meter).toMatchObject({ holdId, held: usd(2) });
    expect((await harness.balance(orgId)).held).toBe(usd(2));
    // Two dollars pay for 33 minutes, so the hold is renewed 15 minutes before it ends.
    await harness.clock.advance(20 * MINUTE_MS);
    await harness.sweep();
    expect((await heldFor(meter)) ?? 0n).toBeGreaterThan(usd(0.9));
    await harness.close(meter);
    expect(await heldFor(meter)).toBeNull();
  });

  it('closed twice returns the same cost and charges once', async () => {
    const orgId = await harness.organisation(100);
    const meter = await harness.open(orgId);
    await harness.clock.advance(10 * MINUTE_MS);
    const at = harness.clock.now();
    const first = await harness.close(meter, at);
    await harness.clock.advance(10 * MINUTE_MS);
    const second = await harness.close(meter, harness.clock.now());
    expect(second.finalCost).toBe(first.finalCost);
    expect(first.finalCost).toBe(usd(0.6));
    expect(await harness.paid(orgId, meter.cause)).toBe(usd(0.6));
  });

  it('closed at the last healthy time returns later postings, also after a pause', async () => {
    const orgId = await harness.organisation(100);
    const meter = await harness.open(orgId);
    await harness.clock.advance(10 * MINUTE_MS);
    const lastSign = harness.clock.now();
    await harness.clock.advance(2 * HOUR_MS);
    await harness.sweep();
    await harness.pause(meter, later(lastSign, 5 * MINUTE_MS));
    expect(await harness.paid(orgId, meter.cause)).toBe(usd(0.9));
    await harness.clock.advance(HOUR_MS);
    const { finalCost } = await harness.close(meter, lastSign);
    expect(finalCost).toBe(usd(0.6));
    expect(await harness.paid(orgId, meter.cause)).toBe(usd(0.6));
    expect(await harness.balance(orgId)).toEqual({ balance: usd(99.4), held: 0n, available: usd(99.4) });
    const kinds = (await harness.transfers(orgId, meter.cause)).map(({ kind }) => kind);
    expect(kinds.toSorted()).toEqual(['charge', 'credit', 'credit']);
  });

  it('with a supplier pays its exact share, and takes it back with returned time', async () => {
    const orgId = await harness.organisation(100);
    const supplier = await harness.organisation(0);
    const rate = nanoUsd(1_234_567_891n);
    const supplierRate = nanoUsd(987_654_321n);
    const meter = await harness.open(orgId, {
      product: 'instance',
      ratePerHour: rate,
      supplier: { orgId: supplier, ratePerHour: supplierRate },
    });
    for (const minutes of [7, 61, 13, 62, 55]) {
      await harness.clock.advance(minutes * MINUTE_MS + 17);
      await harness.sweep();
    }
    const lastSign = later(harness.clock.now(), -90 * MINUTE_MS);
    await harness.close(meter, lastSign);
    const elapsedMs = lastSign.getTime() - meter.openedAt.getTime();
    const [payable] = await harness.rows<{ balance_nano_usd: bigint }>(
      `select balance_nano_usd from ledger_accounts where kind = 'supplier_payable' and org_id = '${toUuid(supplier)}'`,
    );
    expect(payable?.balance_nano_usd).toBe(meteredTotal(supplierRate, elapsedMs));
    expect(await harness.paid(orgId, meter.cause)).toBe(meteredTotal(rate, elapsedMs));
  });

  it('holds the cost of retention, and releases it at the close', async () => {
    const orgId = await harness.organisation(100);
    const funding = { kind: 'ahead', retentionMs: 72 * HOUR_MS, retentionRatePerHour: usd(0.05) } as const;
    const plain = await harness.open(orgId, { name: 'plain' });
    const meter = await harness.open(orgId, { funding });
    const fullMs = nextPostingTime(meter.id, meter.openedAt, HOUR_MS).getTime() - meter.openedAt.getTime();
    expect(meter.held).toBe(meteredTotal(usd(3.6), fullMs + 15 * MINUTE_MS) + usd(3.6));
    expect(meter.coveredUntil?.getTime()).toBe(meter.openedAt.getTime() + fullMs + 72.25 * HOUR_MS);
    await harness.close(plain);
    await harness.close(meter);
    expect(await harness.balance(orgId)).toMatchObject({ held: 0n, available: usd(100) });
  });

  it('with demand rest opens with the available money, also if new work is refused', async () => {
    // Less than the 15 minutes that are always held.
    const orgId = await harness.organisation(0.5);
    await expect(harness.open(orgId)).rejects.toMatchObject({ reason: 'INSUFFICIENT_BALANCE' });
    const meter = await harness.open(orgId, { demand: 'rest' });
    expect(meter.held).toBe(usd(0.5));
    expect(await harness.balance(orgId)).toMatchObject({ available: 0n });
    const bare = await harness.open(orgId, { demand: 'rest' });
    expect(bare).toMatchObject({ held: 0n, state: 'open', coveredUntil: bare.openedAt });
    for (const one of [meter, bare]) await harness.close(one);
  });

  it('with a term holds its whole price, is posted hourly, and is free after its end', async () => {
    const orgId = await harness.organisation(100);
    const termEndsAt = later(harness.clock.now(), 10 * HOUR_MS);
    const meter = await harness.open(orgId, { funding: { kind: 'committed', termEndsAt, refund: ppm(0) } });
    expect(await harness.balance(orgId)).toMatchObject({ held: usd(36) });
    await harness.clock.advance(4 * HOUR_MS);
    await harness.sweep();
    expect(await harness.balance(orgId)).toEqual({
      balance: usd(85.6),
      held: usd(21.6),
      available: usd(64),
    });
    expect(await readBurnRate(harness.db, orgId, 'live', harness.clock.now())).toEqual({
      burnPerHour: 0n,
      cover: 0n,
    });
    await harness.clock.advance(20 * HOUR_MS);
    await harness.sweep();
    const { finalCost } = await harness.close(meter);
    expect(finalCost).toBe(usd(36));
    expect(await harness.balance(orgId)).toEqual({ balance: usd(64), held: 0n, available: usd(64) });
  });

  it('with a term that ends early owes the remaining term less the refund, unless waived', async () => {
    for (const [rest, cost] of [
      ['owed', usd(3.6 * 4 + 0.75 * 3.6 * 6)],
      ['waived', usd(3.6 * 4)],
    ] as const) {
      const orgId = await harness.organisation(100);
      const termEndsAt = later(harness.clock.now(), 10 * HOUR_MS);
      const funding = { kind: 'committed', termEndsAt, refund: ppm(250_000) } as const;
      const meter = await harness.open(orgId, { funding });
      await harness.clock.advance(4 * HOUR_MS);
      const { finalCost } = await harness.close(meter, harness.clock.now(), rest);
      expect(finalCost).toBe(cost);
      expect(await harness.paid(orgId, meter.cause)).toBe(cost);
      expect(await harness.balance(orgId)).toMatchObject({ held: 0n, balance: usd(100) - cost });
    }
  });

  it('in test mode is free, holds nothing and is never due', async () => {
    const orgId = await harness.organisation(0);
    const meter = await harness.open(orgId, { mode: 'test', ratePerHour: usd(0) });
    expect(meter).toMatchObject({ holdId: null, nextPostAt: null });
    await harness.clock.advance(5 * HOUR_MS);
    await harness.sweep();
    await harness.pause(meter);
    await harness.resume(meter);
    expect(await harness.close(meter)).toMatchObject({ finalCost: 0n });
    await expect(harness.open(orgId, { mode: 'test', ratePerHour: usd(1) })).rejects.toThrow();
  });
});

describe('sweepMeters', () => {
  it('posts everything once if several sweeps run concurrently', async () => {
    const meters: Meter[] = [];
    for (let nth = 0; nth < 5; nth += 1) {
      const orgId = await harness.organisation(500);
      for (let more = 0; more < 8; more += 1) meters.push(await harness.open(orgId));
    }
    const startMs = harness.clock.nowMs();
    for (let turn = 0; turn < 4; turn += 1) {
      await harness.clock.advance(37 * MINUTE_MS);
      const sweep = () => sweepMeters(harness.db, { shards: allShards, log: quiet, batchSize: 7 });
      await Promise.all([sweep(), sweep(), sweep()]);
    }
    const elapsedMs = harness.clock.nowMs() - startMs;
    for (const meter of meters) {
      const { finalCost } = await harness.close(meter);
      expect(finalCost).toBe(meteredTotal(usd(3.6), elapsedMs));
      expect(await harness.paid(meter.orgId, meter.cause)).toBe(finalCost);
    }
    const drifting = await harness.rows(
      'select 1 from ledger_accounts where balance_nano_usd < held_nano_usd and org_id is not null',
    );
    expect(drifting).toEqual([]);
  });

  it('charges and returns nothing if the clock is behind', async () => {
    const orgId = await harness.organisation(100);
    const meter = await harness.open(orgId);
    await harness.clock.advance(2 * HOUR_MS);
    await harness.sweep();
    const paid = await harness.paid(orgId, meter.cause);
    await harness.rows(`update meters set next_post_at = '2026-01-01' where id = '${toUuid(meter.id)}'`);
    await sweepMeters(databaseWithClock(harness.db, later(harness.clock.now(), -HOUR_MS)), {
      shards: allShards,
      log: quiet,
    });
    expect(await harness.paid(orgId, meter.cause)).toBe(paid);
    await harness.close(meter);
  });

  it('after an outage lets the operator absorb the cost beyond hold and balance', async () => {
    const orgId = await harness.organisation(6);
    const meter = await harness.open(orgId);
    await harness.clock.advance(10 * HOUR_MS);
    await harness.sweep();
    expect(await harness.balance(orgId)).toEqual({ balance: 0n, held: 0n, available: 0n });
    const { finalCost } = await harness.close(meter);
    expect(finalCost).toBe(usd(36));
    expect(await harness.paid(orgId, meter.cause)).toBe(usd(6));
    const [row] = await harness.rows<{ shortfall_nano_usd: bigint }>(
      `select shortfall_nano_usd from meters where id = '${toUuid(meter.id)}'`,
    );
    expect(row?.shortfall_nano_usd).toBe(usd(30));
  });

  it('returns absorbed charges to the operator, from revenue and supplier earnings', async () => {
    const supplierId = await harness.organisation(0);
    const supplier = { orgId: supplierId, ratePerHour: usd(2) };
    const plain = await harness.open(await harness.organisation(6), { ratePerHour: usd(1) });
    const supplied = await harness.open(await harness.organisation(6), { ratePerHour: usd(3), supplier });
    const openedAt = harness.clock.now();
    await harness.clock.advance(10 * HOUR_MS);
    await harness.sweep();
    // Ten hours on money for a few of them, and only the first hour counts.
    await harness.close(plain, later(openedAt, HOUR_MS));
    await harness.close(supplied, later(openedAt, HOUR_MS));
    const of = async (meter: Meter) => {
      const moved = await harness.rows<{ kind: string; sum: string }>(
        `select account.kind, sum(entry.amount_nano_usd)::text as sum
           from ledger_transfers transfer
           join ledger_entries entry on entry.transfer_id = transfer.id
           join ledger_accounts account on account.id = entry.account_id
          where transfer.org_id = '${toUuid(meter.orgId)}' and transfer.cause_kind = 'rental'
          group by 1 having sum(entry.amount_nano_usd) <> 0`,
      );
      return Object.fromEntries(moved.map(({ kind, sum }) => [kind, BigInt(sum)]));
    };
    expect(await of(plain)).toEqual({ credit: 0n - usd(1), revenue: usd(1) });
    expect(await of(supplied)).toEqual({
      credit: 0n - usd(3),
      supplier_payable: usd(2),
      platform_fee: usd(1),
    });
  });

  it('returns time in usage reports as well, under the charged key', async () => {
    const orgId = await harness.organisation(100);
    const keyId = createIdSource({ clock: harness.clock, cell: 1 }).next('key');
    const meter = await harness.open(orgId, { keyId });
    const openedAt = harness.clock.now();
    await harness.clock.advance(3 * HOUR_MS);
    await harness.sweep();
    await harness.close(meter, later(openedAt, HOUR_MS));
    const moved = await harness.transfers(orgId, meter.cause);
    expect(moved.map(({ kind, keyId: key, usage }) => ({ kind, key, usage }))).toEqual([
      { kind: 'credit', key: keyId, usage: { gpuMs: 2 * HOUR_MS * 8 } },
      { kind: 'charge', key: keyId, usage: { gpuMs: 3 * HOUR_MS * 8 } },
    ]);
  });

  it('skips a meter without its hold, and posts the others', async () => {
    const orgId = await harness.organisation(100);
    const broken = await harness.open(orgId);
    const sound = await harness.open(orgId);
    await harness.db.transaction({ name: 'lose', isolation: 'read committed' }, async (tx) => {
      if (broken.holdId === null) throw new Error('no hold');
      await applyLedger(tx, [
        { do: 'close', orgId, mode: 'live', cause: broken.cause, step: 'lost', holdId: broken.holdId },
      ]);
    });
    await harness.clock.advance(2 * HOUR_MS);
    await harness.sweep();
    expect(await harness.paid(orgId, broken.cause)).toBe(0n);
    expect(await harness.paid(orgId, sound.cause)).toBe(usd(7.2));
    await harness.close(sound);
    await harness.rows(
      `update meters set state = 'closed', running_since = null, next_post_at = null, closed_at = now() where id = '${toUuid(broken.id)}'`,
    );
  });
});
