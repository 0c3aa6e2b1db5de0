import type { KeyId } from '@millrace/platform/ids';
import { testIds } from '@millrace/testing';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { charge, credit, usd } from '../money.fixture.ts';
import { seedOrganisation, startRoutes, type SeededOrganisation } from '../routes.fixture.ts';
import { serveBilling, zeroBurnRate } from './index.ts';

let own: SeededOrganisation;

const fixture = await startRoutes((deps) => serveBilling({ ...deps, burnOf: zeroBurnRate }));
const theirs = await seedOrganisation(fixture.db);
afterAll(() => fixture[Symbol.asyncDispose]());
beforeEach(async () => {
  own = await seedOrganisation(fixture.db);
  await credit(fixture, own.organisation.id, { amount: usd(100) });
});

const path = '/v2/customer/budgets';
const call = (
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  at: string,
  key = own.owner.key,
  body?: object,
  headers: Record<string, string> = {},
) => fixture.call({ method, path: at, key, headers, ...(body === undefined ? {} : { body }) });
const create = (request: object = {}, key = own.owner.key, headers: Record<string, string> = {}) =>
  call('POST', path, key, { name: 'team', period: 'month', limitNanoUsd: '3000000000', ...request }, headers);
const list = async (key = own.owner.key) => (await call('GET', path, key)).json.items;
const withoutRequestId = (text: string) => text.replace(/req_[0-9A-Z]{26}/g, '');
const spend = (dollars: number, keyId?: string) =>
  charge(fixture, own.organisation.id, {
    amount: usd(dollars),
    ...(keyId === undefined ? {} : { keyId: keyId as KeyId }),
  });

async function createKey(request: object, key = own.owner.key) {
  const body = { name: 'worker', scopes: ['rentals:read'], ...request };
  return fixture.call({ method: 'POST', path: '/v2/api-keys', key, body });
}

async function eventsOf(type: string, id: string) {
  const text = `select payload as data from outbox where type = $1 and resource_id = $2
    union all select data from events where type = $1 and resource_id = $2`;
  return (await fixture.database.query(text, [type, id])).rows.map(
    (row) => row.data as Record<string, unknown>,
  );
}

describe('budget', () => {
  it('announces 50, 75 and 100 percent by default, and counts charges', async () => {
    const made = await create({ onExceeded: 'notify' });
    expect(made.status, made.text).toBe(201);
    expect(made.json).toMatchObject({
      keyId: null,
      spentNanoUsd: '0',
      thresholdsPercent: [50, 75, 100],
      onExceeded: 'notify',
    });
    for (const dollars of [1.6, 0.8, 1]) await spend(dollars);
    expect(await list()).toMatchObject([{ id: made.json.id, spentNanoUsd: '3400000000' }]);
    const levels = (await eventsOf('budget.threshold', made.json.id)).map((data) => data['thresholdPercent']);
    expect(new Set(levels)).toEqual(new Set([50, 75, 100]));
    expect(levels).toHaveLength(3);
    expect(await eventsOf('budget.exceeded', made.json.id)).toHaveLength(1);
  });

  it('with stop_everything refuses charges beyond it, and a raised limit applies at once', async () => {
    const made = await create({ onExceeded: 'stop_everything' });
    await spend(2);
    await expect(spend(1.5)).rejects.toMatchObject({ reason: 'BUDGET_EXCEEDED' });
    const raised = await call('PATCH', `${path}/${made.json.id}`, own.owner.key, {
      limitNanoUsd: '3500000000',
    });
    expect(raised.json).toMatchObject({ limitNanoUsd: '3500000000', spentNanoUsd: '2000000000' });
    await spend(1.5);
    await expect(spend(0.01)).rejects.toMatchObject({ reason: 'BUDGET_EXCEEDED' });
    expect((await call('DELETE', `${path}/${made.json.id}`)).status).toBe(204);
    await spend(0.01);
    expect(await list()).toEqual([]);
  });

  it('of one key counts only that key', async () => {
    const other = await own.ownerKey('live');
    await create({ keyId: own.owner.keyId, onExceeded: 'stop_everything' });
    await spend(5, other.keyId);
    await spend(5);
    await expect(spend(5, own.owner.keyId)).rejects.toMatchObject({ reason: 'BUDGET_EXCEEDED' });
    expect(await list()).toMatchObject([{ keyId: own.owner.keyId, spentNanoUsd: '0' }]);
  });

  it('created twice with one idempotency key is one budget', async () => {
    const headers = { 'idempotency-key': 'one-budget' };
    const [first, second] = [
      await create({}, own.owner.key, headers),
      await create({}, own.owner.key, headers),
    ];
    expect(second.json).toEqual(first.json);
    expect(await list()).toHaveLength(1);
  });

  it('of another organisation looks like an unknown one, byte for byte', async () => {
    const foreign = (await create({}, theirs.owner.key)).json.id as string;
    for (const method of ['PATCH', 'DELETE'] as const) {
      const body = method === 'PATCH' ? { name: 'mine now' } : undefined;
      const at = (id: string) => call(method, `${path}/${id}`, own.owner.key, body);
      const [outsider, absent] = [await at(foreign), await at(testIds.next('bdg'))];
      expect(outsider.status).toBe(404);
      expect(withoutRequestId(outsider.text)).toBe(withoutRequestId(absent.text));
    }
    const [ofOutsider, anonymous] = [
      await create({ keyId: theirs.owner.keyId }),
      await create({ keyId: testIds.next('key') }),
    ];
    expect(ofOutsider.status).toBe(404);
    expect(withoutRequestId(ofOutsider.text)).toBe(withoutRequestId(anonymous.text));
    expect((await list(theirs.owner.key)).map((item: { name: string }) => item.name)).toContain('team');
  });

  it('of live mode cannot be listed or deleted with a test key', async () => {
    const test = await own.ownerKey('test');
    const live = (await create()).json.id as string;
    expect(await list(test.key)).toEqual([]);
    expect((await call('DELETE', `${path}/${live}`, test.key)).status).toBe(403);
    expect(await list()).toMatchObject([{ id: live }]);
  });

  it('is limited to fifty per organisation, also concurrently', async () => {
    for (let count = 0; count < 48; count += 1) await create();
    const responses = await Promise.all(Array.from({ length: 5 }, () => create()));
    expect(responses.map((response) => response.status).toSorted((a, b) => a - b)).toEqual([
      201, 201, 409, 409, 409,
    ]);
    const refused = responses.find((response) => response.status === 409);
    expect(refused?.json.reason).toBe('BUDGET_LIMIT_REACHED');
    const limits = await call('GET', '/v2/customer/limits');
    expect(limits.json.quotas).toContainEqual({ name: 'budgets', limit: 50, used: 50 });
  });

  it('needs billing:write to be created and billing:read to be listed', async () => {
    const member = await own.addPerson('member');
    expect((await create({}, member.key)).json.reason).toBe('INSUFFICIENT_SCOPE');
    expect((await call('GET', path, member.key)).status).toBe(200);
  });
});

describe('budget of a key', () => {
  it.each(['hour', 'day', 'week', 'month', 'total'])('per %s exists as soon as the key', async (period) => {
    const made = await createKey({ limits: { budget: { usd: 2.5, period } } });
    expect(made.status, made.text).toBe(201);
    expect(await list()).toMatchObject([
      { keyId: made.json.id, period, limitNanoUsd: '2500000000', onExceeded: 'stop_everything' },
    ]);
    await spend(2, made.json.id);
    await expect(spend(1, made.json.id)).rejects.toMatchObject({ reason: 'BUDGET_EXCEEDED' });
    await spend(1);
  });

  it('is shared with the rotated key and not refilled', async () => {
    const budget = { usd: 2, period: 'day' };
    const made = await createKey({ limits: { budget } });
    await spend(1.5, made.json.id);
    const at = `/v2/api-keys/${String(made.json.id)}/rotate`;
    const rotated = await call('POST', at, own.owner.key, { overlapSeconds: 600 });
    expect(rotated.status, rotated.text).toBe(201);
    await expect(spend(1, rotated.json.id)).rejects.toMatchObject({ reason: 'BUDGET_EXCEEDED' });
    await spend(0.3, rotated.json.id);
    await spend(0.2, made.json.id);
    await expect(spend(0.1, made.json.id)).rejects.toMatchObject({ reason: 'BUDGET_EXCEEDED' });
    expect(await list()).toMatchObject([{ keyId: rotated.json.id, spentNanoUsd: '2000000000' }]);
  });

  it('cannot be raised or deleted before the key is revoked', async () => {
    const limits = { budget: { usd: 2, period: 'day' } };
    const made = await createKey({ scopes: ['billing:read', 'billing:write'], limits });
    const [{ id }] = await list();
    const raise = await call('PATCH', `${path}/${id}`, made.json.key, { limitNanoUsd: '900000000000' });
    const drop = await call('DELETE', `${path}/${id}`, made.json.key);
    expect([raise.json.reason, drop.json.reason]).toEqual(['BUDGET_OF_KEY', 'BUDGET_OF_KEY']);
    expect((await call('DELETE', `${path}/${id}`)).json.reason).toBe('BUDGET_OF_KEY');
    expect(await list()).toMatchObject([{ id, limitNanoUsd: '2000000000' }]);
    await call('DELETE', `/v2/api-keys/${String(made.json.id)}`);
    expect((await call('DELETE', `${path}/${id}`)).status).toBe(204);
  });

  it('is refused if it is not exact in nano-USD, and no key is created', async () => {
    const before = (await call('GET', '/v2/api-keys?limit=200')).json.items.length as number;
    const refused = await createKey({ limits: { budget: { usd: 0.1234567891, period: 'day' } } });
    expect(refused.json.issues[0]).toMatchObject({ path: ['limits', 'budget', 'usd'], code: 'not_exact' });
    expect((await call('GET', '/v2/api-keys?limit=200')).json.items).toHaveLength(before);
  });
});

describe('sum of budget limits', () => {
  const contra = async () => {
    const text = `select sum(balance_nano_usd)::text as total from ledger_accounts where kind = 'limit_contra'`;
    return BigInt((await fixture.database.query<{ total: string }>(text)).rows[0]?.total ?? '0');
  };

  it('is bounded, so that no organisation overflows a shared account', async () => {
    const most = '100000000000000000';
    const whole = await create({ limitNanoUsd: most });
    expect(whole.status, whole.text).toBe(201);
    const refusals = [
      await create({ limitNanoUsd: '1' }),
      await create({ limitNanoUsd: '999999999999999999' }),
      await call('PATCH', `${path}/${whole.json.id}`, own.owner.key, { limitNanoUsd: '100000000000000001' }),
    ];
    for (const refused of refusals) {
      expect(refused.status, refused.text).toBe(400);
      expect(refused.json.reason).toBe('VALIDATION_FAILED');
      expect(refused.json.issues).toMatchObject([{ path: ['limitNanoUsd'], code: 'too_big' }]);
    }
    const key = await createKey({ limits: { budget: { usd: 1, period: 'day' } } });
    expect(key.status, key.text).toBe(400);
    expect(key.json.issues).toMatchObject([{ path: ['limits', 'budget', 'usd'], code: 'too_big' }]);
    expect((await create({}, theirs.owner.key)).status).toBe(201);
  });

  it('shrinks when a budget is deleted', async () => {
    const before = await contra();
    const made = await create({ limitNanoUsd: '90000000000000000', onExceeded: 'stop_everything' });
    await spend(2);
    expect(await contra()).toBe(before - 90_000_000n * 1_000_000_000n + 2_000_000_000n);
    expect((await call('DELETE', `${path}/${made.json.id}`)).status).toBe(204);
    expect(await contra()).toBe(before);
    expect((await create({ limitNanoUsd: '90000000000000000' })).status).toBe(201);
  });
});
