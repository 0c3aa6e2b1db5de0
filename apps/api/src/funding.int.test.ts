import { recordDeposit } from '@millrace/core/billing';
import { seedOrganisation, type SeededOrganisation } from '@millrace/core/fixture';
import { applyLedger, requireLedgerSuccess } from '@millrace/core/ledger';
import type { Mode } from '@millrace/platform/envelope';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { uniqueId } from '@millrace/testing';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { startApiFixture } from './api.fixture.ts';

let own: SeededOrganisation;

const fixture = await startApiFixture({ organisationRpm: 60, fundedRpm: 600 });
const operator = await seedOrganisation(fixture.db, { platformRole: 'operator' });
afterAll(() => fixture[Symbol.asyncDispose]());
beforeEach(async () => {
  own = await seedOrganisation(fixture.db);
});

const usd = (amount: number): NanoUsd => nanoUsd(BigInt(Math.round(amount * 1e9)));

/** Posts a payment as the payments feature does. */
const pay = (
  amount: NanoUsd,
  options: { readonly id?: string; readonly mode?: Mode; readonly dies?: boolean } = {},
) =>
  fixture.db.transaction({ name: 'pay', isolation: 'read committed' }, async (tx) => {
    const { id = uniqueId(), mode = 'live' } = options;
    const orgId = own.organisation.id;
    const cause = { kind: 'payment', id };
    await recordDeposit(tx, orgId, mode, { amount, cause });
    const from = [{ account: { kind: 'payments_clearing' }, amount }] as const;
    const command = { do: 'credit', kind: 'top_up', orgId, mode, cause, step: 'paid', amount, from } as const;
    const [result] = await applyLedger(tx, [{ ...command, description: 'A payment' }]);
    requireLedgerSuccess(result);
    if (options.dies === true) throw new Error('died before the commit');
  });

/** The limit that a process reads which has not cached the key. */
async function limitNow(): Promise<{ readonly limit: number; readonly fundedAt: string | null }> {
  const { key } = await own.ownerKey('live');
  const { json } = await fixture.call({ method: 'GET', path: '/v2/customer/limits', key });
  return { limit: json.rateLimits[0].limit as number, fundedAt: json.fundedAt as string | null };
}

it('deposits of 5 USD in total raise the rate limit, and one nano-USD less does not', async () => {
  await pay(usd(4.999999999));
  expect(await limitNow()).toEqual({ limit: 60, fundedAt: null });
  await pay(usd(0.000000001));
  expect(await limitNow()).toMatchObject({ limit: 600, fundedAt: expect.stringMatching(/Z$/) });
});

it('rate limit after deposits applies to requests and is in every response', async () => {
  await pay(usd(5));
  const { key } = await own.ownerKey('live');
  const { headers } = await fixture.call({ method: 'GET', path: '/v2/me', key });
  expect(headers['x-ratelimit-limit-requests']).toBe('600');
});

it('concurrent deposits are added up', async () => {
  await Promise.all([pay(usd(3)), pay(usd(3))]);
  expect(await limitNow()).toMatchObject({ limit: 600 });
});

it('repeated report of one deposit counts once', async () => {
  const id = uniqueId();
  await pay(usd(3), { id });
  await pay(usd(3), { id });
  expect(await limitNow()).toEqual({ limit: 60, fundedAt: null });
});

it('deposit in a rolled-back transaction does not raise the limit', async () => {
  await expect(pay(usd(50), { dies: true })).rejects.toThrow('died before the commit');
  expect(await limitNow()).toEqual({ limit: 60, fundedAt: null });
});

it('grants and test-mode payments are not deposits', async () => {
  await pay(usd(50), { mode: 'test' });
  const granted = await fixture.call({
    method: 'POST',
    path: `/v2/admin/organisations/${own.organisation.id}/grants`,
    key: operator.owner.key,
    body: { amountNanoUsd: '50000000000', reason: 'welcome' },
  });
  expect(granted.status).toBe(201);
  expect(await limitNow()).toEqual({ limit: 60, fundedAt: null });
});

it('cached key gets the new limit within the maximum cache age', async () => {
  const { key } = own.owner;
  const limitOf = async () => {
    const { headers } = await fixture.call({ method: 'GET', path: '/v2/me', key });
    return headers['x-ratelimit-limit-requests'];
  };
  expect(await limitOf()).toBe('60');
  await pay(usd(5));
  await expect.poll(limitOf).toBe('600');
});
