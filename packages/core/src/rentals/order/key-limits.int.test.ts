import { isFault } from '@millrace/platform/fault';
import { toUuid, type KeyId } from '@millrace/platform/ids';
import { toNearestUsdNumber } from '@millrace/platform/money';
import { afterAll, describe, expect, it } from 'vitest';
import { createRentalHarness, GPU_HOUR, type Tenant } from '../model/rental.fixture.ts';

const harness = await createRentalHarness({ portListeners: false, poolSize: 12, nodes: 2 });
afterAll(() => harness.drop());

const outcomeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'accepted',
    (error: unknown) => (isFault(error) ? error.reason : String(error)),
  );

async function countOf(outcomes: readonly Promise<string>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const outcome of await Promise.all(outcomes)) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

const rentAtOnce = (tenant: Tenant, times: number, keys: readonly KeyId[]): Promise<Record<string, number>> =>
  countOf(
    Array.from({ length: times }, (_, index) =>
      outcomeOf(harness.rent(tenant, 'live', {}, keys[index % keys.length])),
    ),
  );

describe('key limit', () => {
  it('on live rentals is exact under concurrent orders', async () => {
    const tenant = await harness.tenant();
    const key = await harness.limitedKey(tenant, 'live', { maxLiveRentals: 2 });
    expect(await rentAtOnce(tenant, 8, [key])).toEqual({ accepted: 2, KEY_LIMIT_EXCEEDED: 6 });
    const [held] = await harness.rows(
      `select count(*)::int as holds from ledger_holds where org_id = '${toUuid(tenant.orgId)}'`,
    );
    expect(held).toEqual({ holds: 2 });
  });

  it('on the hourly rate is exact to the nano-USD under concurrent orders', async () => {
    const tenant = await harness.tenant();
    const two = toNearestUsdNumber((2n * GPU_HOUR) as typeof GPU_HOUR);
    const enough = await harness.limitedKey(tenant, 'live', { maxUsdPerHour: two });
    const oneNanoShort = await harness.limitedKey(tenant, 'live', { maxUsdPerHour: two - 0.000_000_001 });
    expect(await rentAtOnce(tenant, 4, [enough])).toEqual({ accepted: 2, KEY_LIMIT_EXCEEDED: 2 });
    expect(await rentAtOnce(tenant, 4, [oneNanoShort])).toEqual({ accepted: 1, KEY_LIMIT_EXCEEDED: 3 });
  });

  it('is shared by the old and the new key after a rotation', async () => {
    const tenant = await harness.tenant();
    const first = await harness.limitedKey(tenant, 'live', { maxLiveRentals: 3 });
    await harness.rent(tenant, 'live', {}, first);
    const second = await harness.rotate(tenant, 'live', first);
    expect(await rentAtOnce(tenant, 6, [first, second])).toEqual({ accepted: 2, KEY_LIMIT_EXCEEDED: 4 });
    const third = await harness.rotate(tenant, 'live', second);
    expect(await outcomeOf(harness.rent(tenant, 'live', {}, third))).toBe('KEY_LIMIT_EXCEEDED');
  });

  it('counts only rentals of the key that have not ended', async () => {
    const tenant = await harness.tenant();
    await harness.rent(tenant, 'live');
    const key = await harness.limitedKey(tenant, 'live', { maxLiveRentals: 1 });
    const rental = await harness.rent(tenant, 'live', {}, key);
    expect(await outcomeOf(harness.rent(tenant, 'live', {}, key))).toBe('KEY_LIMIT_EXCEEDED');
    await harness.rows(
      `update rentals set status = 'Failed', task = 'release' where id = '${toUuid(rental.id)}'`,
    );
    expect(await outcomeOf(harness.rent(tenant, 'live', {}, key))).toBe('accepted');
  });

  it('applies to regions and GPU types', async () => {
    const tenant = await harness.tenant();
    const otherRegion = await harness.limitedKey(tenant, 'live', { regions: ['eu-west-1'] });
    const other = await harness.limitedKey(tenant, 'live', { gpuTypes: ['b200'] });
    expect(await outcomeOf(harness.rent(tenant, 'live', {}, otherRegion))).toBe('KEY_LIMIT_EXCEEDED');
    expect(await outcomeOf(harness.rent(tenant, 'live', {}, other))).toBe('KEY_LIMIT_EXCEEDED');
    expect(await outcomeOf(harness.rent(tenant, 'live', { gpuType: 'b200' }, other))).toBe('accepted');
  });

  it('on the duration rejects longer rentals and sets the end of unlimited ones', async () => {
    await harness.offerTerm(1);
    const tenant = await harness.tenant();
    const key = await harness.limitedKey(tenant, 'live', { maxRentalSeconds: 3_600 });
    expect(await outcomeOf(harness.rent(tenant, 'live', { ttlSeconds: 3_601 }, key))).toBe(
      'KEY_LIMIT_EXCEEDED',
    );
    const term = { termType: 'reserved', termPeriodDays: 1 } as const;
    expect(await outcomeOf(harness.rent(tenant, 'live', term, key))).toBe('KEY_LIMIT_EXCEEDED');
    const nowMs = harness.clock.nowMs();
    const unbounded = await harness.rent(tenant, 'live', {}, key);
    expect(unbounded.expiresAt).toEqual(new Date(nowMs + 3_600_000));
    const shorter = await harness.rent(tenant, 'live', { ttlSeconds: 600 }, key);
    expect(shorter.expiresAt).toEqual(new Date(nowMs + 600_000));
  });

  it('of a key that is revoked during the request allows nothing', async () => {
    const tenant = await harness.tenant();
    const key = await harness.limitedKey(tenant, 'live', {});
    await harness.rows(
      `update api_keys set revoked_at = created_at, revoked_reason = 'revoked' where id = '${toUuid(key)}'`,
    );
    expect(await outcomeOf(harness.rent(tenant, 'live', {}, key))).toBe('API_KEY_REVOKED');
  });
});

describe('concurrent orders', () => {
  it('never hold more than the balance, and the rest are rejected', async () => {
    const tenant = await harness.tenant({ balanceUsd: 10.1 });
    expect(await rentAtOnce(tenant, 6, [tenant.keys.live])).toEqual({ accepted: 2, INSUFFICIENT_BALANCE: 4 });
    const { available } = await harness.balance(tenant.orgId);
    expect(available >= 0n).toBe(true);
    expect(await harness.violations()).toEqual([]);
  });
});
