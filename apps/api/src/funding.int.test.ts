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

/** A payment, as whoever takes payments posts it. */
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

/** What a process finds that has not seen the key before. */
async function limitNow(): Promise<{ readonly limit: number; readonly fundedAt: string | null }> {
  const { key } = await own.ownerKey('live');
  const { json } = await fixture.call({ method: 'GET', path: '/v2/customer/limits', key });
  return { limit: json.rateLimits[0].limit as number, fundedAt: json.fundedAt as string | null };
}

it('deposits of 5 USD together lift the rate limit, and one nano-USD less does not', async () => {
  await pay(usd(4.999999999));
  expect(await limitNow()).toEqual({ limit: 60, fundedAt: null });
  await pay(usd(0.000000001));
  expect(await limitNow()).toMatchObject({ limit: 600, fundedAt: expect.stringMatching(/Z$/) });
});

it('the limit is what requests are counted by, and every answer says so', async () => {
  await pay(usd(5));
  const { key } = await own.ownerKey('live');
  const { headers } = await fixture.call({ method: 'GET', path: '/v2/me', key });
  expect(headers['x-ratelimit-limit-requests']).toBe('600');
});

it('two deposits at once are added up', async () => {
  await Promise.all([pay(usd(3)), pay(usd(3))]);
  expect(await limitNow()).toMatchObject({ limit: 600 });
});

it('one deposit told twice counts once', async () => {
  const id = uniqueId();
  await pay(usd(3), { id });
  await pay(usd(3), { id });
  expect(await limitNow()).toEqual({ limit: 60, fundedAt: null });
});

it('a deposit whose transaction dies lifts nothing', async () => {
  await expect(pay(usd(50), { dies: true })).rejects.toThrow('died before the commit');
  expect(await limitNow()).toEqual({ limit: 60, fundedAt: null });
});

it('neither grants nor payments of test mode are deposits', async () => {
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

it('a key that is known already gets the new limit within the age that a process may go by', async () => {
  const { key } = own.owner;
  const limitOf = async () => {
    const { headers } = await fixture.call({ method: 'GET', path: '/v2/me', key });
    return headers['x-ratelimit-limit-requests'];
  };
  expect(await limitOf()).toBe('60');
  await pay(usd(5));
  await expect.poll(limitOf).toBe('600');
});
