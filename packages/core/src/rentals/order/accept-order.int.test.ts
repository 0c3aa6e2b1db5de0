import { isFault } from '@millrace/platform/fault';
import { fromUuid, toUuid, type OrgId } from '@millrace/platform/ids';
import { hourlyCharge, roundExact, nanoUsd } from '@millrace/platform/money';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { findHold } from '../../ledger/index.ts';
import { listMachines } from '../model/machines.store.ts';
import { createRentalHarness, DISK_GB_HOUR, GPU_HOUR, type RentalHarness } from '../model/rental.fixture.ts';
import { listProvisioningSteps } from '../model/provisioning-steps.store.ts';
import { listTerms } from '../model/terms.store.ts';

const harness = await createRentalHarness({ portListeners: false, poolSize: 12 });
afterAll(() => harness.drop());
afterEach(async () => {
  expect(await harness.violations()).toEqual([]);
});

const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'accepted',
    (error: unknown) => (isFault(error) ? error.reason : String(error)),
  );

/** Counts the rows of an accepted order. */
async function traces(orgId: OrgId): Promise<Record<string, number>> {
  const org = toUuid(orgId);
  const [counts] = await harness.rows<Record<string, number>>(`
    select (select count(*)::int from rentals where org_id = '${org}') as rentals,
           (select count(*)::int from rental_machines where org_id = '${org}') as machines,
           (select count(*)::int from rental_terms where org_id = '${org}') as terms,
           (select count(*)::int from rental_steps where org_id = '${org}') as steps,
           (select count(*)::int from rental_transitions where org_id = '${org}') as transitions,
           (select count(*)::int from allocations where org_id = '${org}') as allocations,
           (select count(*)::int from ledger_holds where org_id = '${org}') as holds,
           (select count(*)::int from outbox where org_id = '${org}' and (type like 'rental.%' or service = 'Rental')) as told,
           (select count(*)::int from audit_log where org_id = '${org}' and action = 'rental.created') as audited`);
  return counts ?? {};
}

const nothing = {
  rentals: 0,
  machines: 0,
  terms: 0,
  steps: 0,
  transitions: 0,
  allocations: 0,
  holds: 0,
  told: 0,
  audited: 0,
};

describe('accepted order', () => {
  it('writes rows, allocation, exact hold, event and reconcile command in one transaction', async () => {
    const tenant = await harness.tenant({ balanceUsd: 100 });
    const rental = await harness.rent(tenant, 'live', {
      gpuCount: 2,
      customPorts: [8080, 8080, 22],
      name: 'box',
    });
    expect(rental).toMatchObject({
      status: 'Pending',
      task: 'provision',
      power: 'changing',
      gpuCount: 2,
      customPorts: [8080, 22],
      sshKeys: [tenant.ssh.publicKey],
      keyId: tenant.keys.live,
      userId: tenant.userId,
    });
    expect(await traces(tenant.orgId)).toEqual({
      rentals: 1,
      machines: 1,
      terms: 1,
      steps: 1,
      transitions: 1,
      allocations: 1,
      holds: 1,
      told: 2,
      audited: 1,
    });
    const [machine] = await listMachines(harness.db, tenant.orgId, rental.id);
    expect(machine).toMatchObject({
      externalId: toUuid(rental.id),
      state: 'wanted',
      cpuCount: 48,
      ramMb: 500 * 1_024,
      diskGb: 7_000,
    });
    expect(machine?.gpuAddresses).toHaveLength(2);
    expect(machine?.ports.map(({ internalPort, protocol }) => [internalPort, protocol])).toEqual([
      [22, 'tcp'],
      [8080, 'tcp'],
    ]);
    expect(await listProvisioningSteps(harness.db, tenant.orgId, rental.id)).toMatchObject([
      { name: 'place', status: 'done' },
    ]);
    const rate = nanoUsd(2n * GPU_HOUR);
    const held = roundExact(hourlyCharge(rate, 75 * 60_000), 'up');
    expect(await harness.balance(tenant.orgId)).toEqual({
      balance: 100_000_000_000n,
      held,
      available: 100_000_000_000n - held,
    });
    const [term] = await listTerms(harness.db, tenant.orgId, rental.id);
    expect(term).toMatchObject({ seq: 1, termType: 'on-demand', meterName: 'gpu', effectiveAt: null });
    expect(term?.price.rateNanoUsdPerHour).toBe(String(rate));
    if (term?.holdId == null) throw new Error('No hold.');
    expect(await findHold(harness.db, tenant.orgId, term.holdId)).toMatchObject({
      held,
      closed: false,
      cause: { kind: 'rental', id: String(rental.wireId) },
    });
    expect(rental.diskPrice).toMatchObject({
      quantity: 7_000,
      rateNanoUsdPerHour: String(7_000n * DISK_GB_HOUR),
    });
  });

  it('for a reserved term holds its whole discounted price', async () => {
    await harness.offerTerm(30);
    const tenant = await harness.tenant({ balanceUsd: 5_000 });
    const rental = await harness.rent(tenant, 'live', { termType: 'reserved', termPeriodDays: 30 });
    const rate = (GPU_HOUR * 8n + 9n) / 10n;
    expect((await harness.balance(tenant.orgId)).held).toBe(rate * 24n * 30n);
    const [term] = await listTerms(harness.db, tenant.orgId, rental.id);
    expect(term).toMatchObject({ termType: 'reserved', endsAt: null });
    expect(term?.price).toMatchObject({
      rateNanoUsdPerHour: String(rate),
      reserve: { refundPpm: 500_000, onDemandNanoUsdPerHour: String(GPU_HOUR) },
    });
  });

  it('in test mode costs and holds nothing, and passes only fault tags to the engine', async () => {
    const tenant = await harness.tenant({ balanceUsd: 0 });
    const rental = await harness.rent(tenant, 'test', {
      maxUsd: 0.000_001,
      tags: {
        'millrace.fault': 'slow-boot',
        'millrace.fault.after_ms': '5',
        team: 'x',
        'millrace.fault/x': 'y',
      },
    });
    expect(rental.labels).toEqual({ 'millrace.fault': 'slow-boot', 'millrace.fault.after_ms': '5' });
    expect(rental.tags).toMatchObject({ team: 'x' });
    expect(await traces(tenant.orgId)).toMatchObject({ rentals: 1, holds: 0, allocations: 1 });
    expect((await listTerms(harness.db, tenant.orgId, rental.id))[0]?.price.rateNanoUsdPerHour).toBe('0');
    const live = await harness.tenant();
    const sold = await harness.rent(live, 'live', { tags: { 'millrace.fault': 'boot-fails' } });
    expect(sold.labels).toEqual({});
  });

  it('keeps its price when the price list changes', async () => {
    const tenant = await harness.tenant();
    const rental = await harness.rent(tenant, 'live', { gpuType: 'h200' });
    const before = (await listTerms(harness.db, tenant.orgId, rental.id))[0]?.price;
    await harness.rows(`insert into prices (id, subject_kind, gpu_type, machine_type, unit, price_nano_usd, valid_from, created_at)
      values (gen_random_uuid(), 'gpu', 'h200', 'virtual-machine', 'gpu_hour', 99, '${harness.clock.now().toISOString()}'::timestamptz - interval '1 hour', now())`);
    expect((await listTerms(harness.db, tenant.orgId, rental.id))[0]?.price).toEqual(before);
  });
});

describe('rejected order leaves nothing', () => {
  const cases: readonly (readonly [string, Parameters<RentalHarness['rent']>[2], string])[] = [
    ['more GPUs than a host has', { gpuCount: 9 }, 'INSUFFICIENT_CAPACITY'],
    ['more GPUs than an account could ever pay for', { gpuCount: 2_147_483_647 }, 'VALIDATION_FAILED'],
    ['a region without providers', { region: 'jp-east-1' }, 'REGION_DISABLED'],
    ['the mock region with a live key', { region: 'mock-region' }, 'REGION_DISABLED'],
    ['a network that no host has', { networkType: 'infiniband' }, 'NETWORK_TYPE_NOT_SUPPORTED'],
    ['a discount without entitlement', { discountPercentage: 99 }, 'DISCOUNT_NOT_ENTITLED'],
    ['a discount outside 0 to 100', { discountPercentage: -1 }, 'VALIDATION_FAILED'],
    ['a term that is not on offer', { termType: 'reserved', termPeriodDays: 31 }, 'RESERVE_OPTION_NOT_FOUND'],
    ['a term of half a day', { termType: 'reserved', termPeriodDays: 0.5 }, 'RESERVE_OPTION_NOT_FOUND'],
    ['a reserved term without length', { termType: 'reserved' }, 'VALIDATION_FAILED'],
    ['a spending limit below one minute', { maxUsd: 0.01 }, 'MAX_USD_EXCEEDED'],
    ['a spending limit below its TTL', { maxUsd: 3, ttlSeconds: 3_600 }, 'MAX_USD_EXCEEDED'],
    ['a spending limit finer than a nano-USD', { maxUsd: 1.000_000_000_1 }, 'VALIDATION_FAILED'],
    ['a label that is too long', { label: 'x'.repeat(1_001) }, 'VALIDATION_FAILED'],
    ['an image that is a path', { image: '../../etc/passwd' }, 'IMAGE_NOT_FOUND'],
    ['an engine image that is not offered to tenants', { image: 'ubuntu-24.04-cuda12.9' }, 'IMAGE_NOT_FOUND'],
    ['an unknown SSH key', { sshKeyIds: ['ssh_01JD8Q7XK4T2M9V6B3N5C1F0GH'] }, 'SSH_KEY_NOT_FOUND'],
  ];
  it.each(cases)('%s', async (_, request, reason) => {
    const tenant = await harness.tenant({ balanceUsd: 100 });
    expect(await reasonOf(harness.rent(tenant, 'live', request))).toBe(reason);
    expect(await traces(tenant.orgId)).toEqual(nothing);
    expect((await harness.balance(tenant.orgId)).held).toBe(0n);
  });

  it('no money, too little money, and no SSH key', async () => {
    const poor = await harness.tenant({ balanceUsd: 4 });
    expect(await reasonOf(harness.rent(poor, 'live'))).toBe('INSUFFICIENT_BALANCE');
    expect(await traces(poor.orgId)).toEqual(nothing);
    await harness.topUp(poor.orgId, 1);
    expect(await reasonOf(harness.rent(poor, 'live'))).toBe('accepted');
    const keyless = await harness.tenant({ ssh: 'none' });
    expect(await reasonOf(harness.rent(keyless, 'live'))).toBe('NO_PUBLIC_KEY');
    expect(await traces(keyless.orgId)).toEqual(nothing);
  });

  it('a budget below the hold, although the quote saw enough balance', async () => {
    const tenant = await harness.tenant();
    const key = await harness.limitedKey(tenant, 'live', { budget: { usd: 1, period: 'total' } });
    expect(await reasonOf(harness.rent(tenant, 'live', {}, key))).toBe('BUDGET_EXCEEDED');
    expect(await traces(tenant.orgId)).toEqual(nothing);
  });

  it('SSH keys of another organisation or of the other mode', async () => {
    const [one, other] = [await harness.tenant(), await harness.tenant()];
    const idOf = async (orgId: OrgId, mode: string): Promise<string> => {
      const [row] = await harness.rows<{ id: string }>(
        `select id from ssh_public_keys where org_id = '${toUuid(orgId)}' and mode = '${mode}'`,
      );
      return fromUuid('ssh', row?.id ?? '');
    };
    for (const id of [await idOf(other.orgId, 'live'), await idOf(one.orgId, 'test')]) {
      expect(await reasonOf(harness.rent(one, 'live', { sshKeyIds: [id] }))).toBe('SSH_KEY_NOT_FOUND');
    }
    expect(await reasonOf(harness.rent(one, 'test', { sshKeyIds: [await idOf(one.orgId, 'test')] }))).toBe(
      'accepted',
    );
    const [live] = await harness.rows(
      `select 1 from rentals where org_id = '${toUuid(one.orgId)}' and mode = 'live'`,
    );
    expect(live).toBeUndefined();
  });

  it('more GPUs than any host has, in test mode without cost', async () => {
    const tenant = await harness.tenant();
    for (const gpuCount of [9, 40_000, 2_147_483_647]) {
      expect(await reasonOf(harness.rent(tenant, 'test', { gpuCount }))).toBe('INSUFFICIENT_CAPACITY');
    }
    expect(await traces(tenant.orgId)).toEqual(nothing);
  });

  it('a disabled region, and custom ports at a provider without them', async () => {
    const tenant = await harness.tenant();
    const region = (set: string): Promise<unknown> =>
      harness.rows(`update provider_regions set ${set} where region = 'us-central-1'`);
    await region('enabled = false');
    expect(await reasonOf(harness.rent(tenant, 'live'))).toBe('REGION_DISABLED');
    await region('enabled = true, custom_ports = false');
    expect(await reasonOf(harness.rent(tenant, 'live', { customPorts: [80] }))).toBe(
      'CUSTOM_PORTS_NOT_SUPPORTED_FOR_REGION',
    );
    await region('custom_ports = true');
    expect(await traces(tenant.orgId)).toEqual(nothing);
  });
});
