import { systemClock } from '@millrace/platform/clock';
import { isFault } from '@millrace/platform/fault';
import { startValkeyServer, testLog, type TestValkey } from '@millrace/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPotService, type PotService } from '../pots/index.ts';
import { withRecalledMoney } from '../ledger/index.ts';
import { createRentalWorld, type RentalWorld, type Tenant } from './rental.fixture.ts';

let world: RentalWorld;
let valkey: TestValkey;
let pots: PotService;
beforeAll(async () => {
  world = await createRentalWorld({ doors: false, nodes: 2 });
  valkey = await startValkeyServer();
  pots = createPotService({
    db: world.db,
    valkey: valkey.client,
    cell: 1,
    clock: systemClock,
    log: testLog('pots'),
    rules: {
      ...{ leaseMs: 60_000, longestRequestMs: 10_000, deadAfterMs: 120_000, outageMs: 60_000 },
      ...{ least: 0n, sharePercent: 0, calmMs: 5_000 },
    },
  });
});
afterAll(async () => {
  await valkey[Symbol.asyncDispose]();
  await world.drop();
});

/** Lends to the pot, as a gateway would have it. */
async function lend({ orgId }: Tenant, amount: bigint): Promise<void> {
  const reply = await pots.lease({
    ...{ orgId, mode: 'live', cell: 1, gatewayId: 'gw', seen: null },
    ...{ shortage: amount, wanted: amount, budgets: [] },
  });
  expect(reply.outcome).toBe('leased');
}

const rentOf = (tenant: Tenant) =>
  withRecalledMoney({ orgId: tenant.orgId, mode: 'live' }, pots.recallFor, () =>
    world.rent(tenant, 'live'),
  ).then(
    () => 'rented',
    (error: unknown) => (isFault(error) ? error.reason : String(error)),
  );

it('money in the pot pays for a rental: just what the rental lacks is called back', async () => {
  const tenant = await world.tenant({ balanceUsd: 1_000 });
  await world.rent(tenant, 'live');
  const { held: hold } = await world.balance(tenant.orgId);
  const { available } = await world.balance(tenant.orgId);
  // Of what is left, all but a third of what a rental takes is lent.
  const kept = hold / 3n;
  await lend(tenant, available - kept);
  expect(await rentOf(tenant)).toBe('rented');
  expect(await world.balance(tenant.orgId)).toMatchObject({ available: 0n, held: hold + available });
});

it('a pot that has too little changes nothing', async () => {
  const tenant = await world.tenant({ balanceUsd: 0.01 });
  await lend(tenant, 5_000_000n);
  expect(await rentOf(tenant)).toBe('INSUFFICIENT_BALANCE');
});
