import { uniqueId } from '@millrace/testing';
import type { KeyId } from '@millrace/platform/ids';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { systemAuditContext } from '../identity/index.ts';
import { charge, credit, inTransaction, usd } from '../money.fixture.ts';
import { seedOrganisation, startRoutes, type SeededOrganisation } from '../routes.fixture.ts';
import { grantCredit as grantInside, zeroBurnRate, serveBilling } from './index.ts';

let tenant: SeededOrganisation;

const fixture = await startRoutes((deps) => serveBilling({ ...deps, burnOf: zeroBurnRate }));
const operator = await seedOrganisation(fixture.db, { platformRole: 'operator' });
afterAll(() => fixture[Symbol.asyncDispose]());
beforeEach(async () => {
  tenant = await seedOrganisation(fixture.db);
});

const get = (path: string, key = tenant.owner.key) => fixture.call({ method: 'GET', path, key });
const send = (
  method: 'POST' | 'PATCH' | 'PUT' | 'DELETE',
  path: string,
  body: object | undefined,
  key: string,
  headers: Record<string, string> = {},
) => fixture.call({ method, path, key, headers, ...(body === undefined ? {} : { body }) });

const grant = (body: object, headers: Record<string, string> = {}, who = tenant) =>
  send('POST', `/v2/admin/organisations/${who.organisation.id}/grants`, body, operator.owner.key, headers);
const adminPost = (path: string, body: object, headers: Record<string, string> = {}) =>
  send('POST', `/v2/admin/${path}`, { reason: 'because of a test', ...body }, operator.owner.key, headers);
const withoutRequestId = (text: string) => text.replace(/req_[0-9A-Z]{26}/g, '');

async function query(text: string, values: unknown[] = []) {
  return (await fixture.database.query(text, values)).rows;
}

async function toppedUpEvents(orgId: string) {
  return query(
    `select payload from outbox where type = 'balance.topped_up' and resource_id = $1
     union all select data from events where type = 'balance.topped_up' and resource_id = $1`,
    [orgId],
  );
}

describe('balance', () => {
  it('is zero at first, with exactly the specified fields', async () => {
    const nothing = { balanceCents: 0, maxOverdraftCents: 0, balanceNanoUsd: '0', heldNanoUsd: '0' };
    const { status, json } = await get('/v2/customer/balance');
    expect(status).toBe(200);
    expect(json).toEqual({
      ...nothing,
      availableNanoUsd: '0',
      burnRateUsdPerHour: 0,
      runwaySeconds: null,
      frozen: false,
    });
  });

  it('is returned on the v1 paths in cents rounded down, dollars and nano-USD', async () => {
    await grant({ amountNanoUsd: '25341234567', reason: 'welcome' });
    const wanted = {
      credits: 2534,
      currency: 'usd',
      balance_usd: 25.341234567,
      balance_nano_usd: '25341234567',
      held_nano_usd: '0',
    };
    for (const path of ['/billing/get_current_balance', '/v1/billing/get_current_balance']) {
      expect((await get(path)).json).toEqual(wanted);
    }
    expect((await get('/v2/customer/balance')).json).toMatchObject({
      balanceCents: 2534,
      balanceNanoUsd: '25341234567',
      availableNanoUsd: '25341234567',
    });
  });

  it('of test mode never shows live money, nor the reverse', async () => {
    await grant({ amountNanoUsd: '5000000000', reason: 'welcome' });
    await credit(fixture, tenant.organisation.id, { amount: usd(7), mode: 'test' });
    const test = await tenant.ownerKey('test');
    expect((await get('/v2/customer/balance', test.key)).json.balanceNanoUsd).toBe('7000000000');
    expect((await get('/v2/customer/balance')).json.balanceNanoUsd).toBe('5000000000');
    expect((await get('/v2/customer/ledger', test.key)).json.items).toHaveLength(1);
    expect((await get('/billing/purchase_history', test.key)).json.purchase_history).toMatchObject([
      { amount: 700, source: 'payment' },
    ]);
    expect((await get('/v2/customer/usage', test.key)).json.items).toEqual([]);
  });

  it('needs the scope billing:read', async () => {
    const viewer = await tenant.addPerson('viewer');
    expect((await get('/v2/customer/balance', viewer.key)).json.reason).toBe('INSUFFICIENT_SCOPE');
  });
});

describe('GET /v2/customer/ledger', () => {
  it('lists every transfer once with its cause, newest first, over several pages', async () => {
    await credit(fixture, tenant.organisation.id, { amount: usd(10) });
    for (let count = 0; count < 5; count += 1) {
      await charge(fixture, tenant.organisation.id, { amount: usd(1), cause: { kind: 'rental', id: 'r-1' } });
    }
    await charge(fixture, tenant.organisation.id, { amount: usd(1), cause: { kind: 'rental', id: 'r-10' } });
    const seen: string[] = [];
    let path: string | null = '/v2/customer/ledger?limit=3';
    while (path !== null) {
      const { json } = await get(path);
      seen.push(...json.items.map((item: { id: string }) => item.id));
      path = json.nextCursor === null ? null : `/v2/customer/ledger?limit=3&cursor=${json.nextCursor}`;
    }
    expect(seen).toEqual([...new Set(seen)].toSorted().toReversed());
    expect(seen).toHaveLength(7);
    const ofOne = await get('/v2/customer/ledger?causeKind=rental&causeId=r-1');
    expect(ofOne.json.items).toHaveLength(5);
    expect(ofOne.json.items[0]).toMatchObject({
      kind: 'charge',
      amountNanoUsd: '-1000000000',
      cause: { kind: 'rental', id: 'r-1' },
    });
    expect((await get('/v2/customer/ledger?kind=top_up')).json.items).toHaveLength(1);
    expect((await get('/v2/customer/ledger?causeId=r-1')).json.issues[0].path).toEqual(['causeKind']);
  });

  it('hides transfers of other organisations and refuses a cursor of another list', async () => {
    const theirs = await seedOrganisation(fixture.db);
    await credit(fixture, theirs.organisation.id, { amount: usd(1), cause: { kind: 'payment', id: 'p-x' } });
    expect((await get('/v2/customer/ledger?causeKind=payment&causeId=p-x')).json.items).toEqual([]);
    const cursor = Buffer.from(JSON.stringify({ id: tenant.organisation.id })).toString('base64url');
    expect((await get(`/v2/customer/ledger?cursor=${cursor}`)).json.reason).toBe('INVALID_CURSOR');
  });
});

describe('usage', () => {
  const use = (cause: { kind: string; id: string }, usage: Record<string, number | string>, keyId?: KeyId) =>
    charge(fixture, tenant.organisation.id, {
      amount: usd(1),
      cause,
      usage,
      ...(keyId === undefined ? {} : { keyId }),
    });

  it('is summed by day, rental, volume, model and key', async () => {
    const key = tenant.owner.keyId as KeyId;
    await credit(fixture, tenant.organisation.id, { amount: usd(50) });
    await use({ kind: 'rental', id: '1042' }, { gpuMs: 1_500 }, key);
    await use({ kind: 'rental', id: '1042' }, { gpuMs: 1_600 });
    await use({ kind: 'volume', id: '7' }, { gbMs: '9007199254740993000' });
    const tokens = { model: 'm/a', requests: 2, promptTokens: 10, completionTokens: 5 };
    await use({ kind: 'inference', id: 'b-1' }, tokens, key);
    await use({ kind: 'something-new', id: '1' }, {});
    const today = new Date().toISOString().slice(0, 10);
    const by = async (group: string) => (await get(`/v2/customer/usage?groupBy=${group}`)).json.items;
    expect(await by('day')).toEqual([
      {
        group: today,
        amountNanoUsd: '5000000000',
        products: {
          rentals: '2000000000',
          volumes: '1000000000',
          instances: '0',
          inference: '1000000000',
          other: '1000000000',
        },
        gpuSeconds: 3,
        volumeGbSeconds: 9_007_199_254_740_991,
        requestCount: 2,
        tokensPrompt: 10,
        tokensCompletion: 5,
      },
    ]);
    expect(await by('rental')).toMatchObject([{ group: '1042', amountNanoUsd: '2000000000', gpuSeconds: 3 }]);
    expect(await by('volume')).toMatchObject([{ group: '7', amountNanoUsd: '1000000000', gpuSeconds: 0 }]);
    expect(await by('model')).toMatchObject([{ group: 'm/a', requestCount: 2, tokensCompletion: 5 }]);
    expect(await by('key')).toMatchObject([{ group: key, amountNanoUsd: '2000000000', requestCount: 2 }]);
  });

  it('lists each group once over several pages and refuses a cursor of another grouping', async () => {
    await credit(fixture, tenant.organisation.id, { amount: usd(50) });
    for (const id of ['a', 'b', 'B', 'c', 'é']) await use({ kind: 'rental', id }, { gpuMs: 1_000 });
    const seen: string[] = [];
    let next: string | null = '';
    let last = '';
    while (next !== null) {
      const { json } = await get(`/v2/customer/usage?groupBy=rental&limit=2${next}`);
      seen.push(...json.items.map((item: { group: string }) => item.group));
      last = json.nextCursor ?? last;
      next = json.nextCursor === null ? null : `&cursor=${json.nextCursor}`;
    }
    expect(seen).toEqual(['B', 'a', 'b', 'c', 'é']);
    const other = await get(`/v2/customer/usage?groupBy=volume&cursor=${last}`);
    expect(other.json.reason).toBe('INVALID_CURSOR');
  });

  it('is refused if the period ends before it starts or exceeds a year', async () => {
    const at = (from: string, until: string) => get(`/v2/customer/usage?from=${from}&until=${until}`);
    const wrong = await at('2026-02-01T00:00:00Z', '2026-01-01T00:00:00Z');
    expect(wrong.json.issues[0].code).toBe('ends_before_it_begins');
    const long = await at('2024-01-01T00:00:00Z', '2026-01-01T00:00:00Z');
    expect(long.json.issues[0].code).toBe('too_long');
  });
});

describe('grant', () => {
  it('writes an audit entry and an event, and is replayed for the same idempotency key', async () => {
    const headers = { 'idempotency-key': `grant-${uniqueId()}` };
    const body = { amountNanoUsd: '3000000000', reason: 'for a good start' };
    const [first, second] = [await grant(body, headers), await grant(body, headers)];
    expect(first.status, first.text).toBe(201);
    expect(first.json).toMatchObject({
      kind: 'grant',
      amountNanoUsd: '3000000000',
      balanceAfterNanoUsd: '3000000000',
      organisationId: tenant.organisation.id,
      reason: 'for a good start',
    });
    expect(second.headers['idempotent-replayed']).toBe('true');
    expect(second.json).toEqual(first.json);
    expect((await get('/v2/customer/balance')).json.balanceNanoUsd).toBe('3000000000');
    const audit = await query(`select action, reason from audit_log where resource_id = $1`, [first.json.id]);
    expect(audit).toEqual([{ action: 'money.granted', reason: 'for a good start' }]);
    const events = await toppedUpEvents(tenant.organisation.id);
    expect(events).toHaveLength(1);
    expect(events[0].payload).toMatchObject({ amountNanoUsd: '3000000000', source: 'grant' });
  });

  it('is applied once if ten requests use one idempotency key concurrently', async () => {
    const headers = { 'idempotency-key': `grant-${uniqueId()}` };
    const body = { amountNanoUsd: '1000000000', reason: 'many at once' };
    await Promise.all(Array.from({ length: 10 }, () => grant(body, headers)));
    expect((await get('/v2/customer/balance')).json.balanceNanoUsd).toBe('1000000000');
  });

  const named = (dies = false) =>
    inTransaction(fixture, async (tx) => {
      const request = { amount: usd(100), causeId: 'play-money', reason: 'by name', burnOf: zeroBurnRate };
      await grantInside(tx, systemAuditContext('test', 'live'), tenant.organisation.id, request);
      if (dies) throw new Error('died before the commit');
    });
  const traces = async () => {
    const orgId = tenant.organisation.id;
    const [audit] = await query(
      `select count(*)::int as count from audit_log a join organisations o on o.id = a.org_id
       where o.slug = $1 and action = 'money.granted'`,
      [tenant.organisation.slug],
    );
    const { json } = await get('/v2/customer/ledger');
    return [json.items.length as number, audit.count as number, (await toppedUpEvents(orgId)).length];
  };

  it('leaves no transfer, audit entry or event if it fails before the commit', async () => {
    await expect(named(true)).rejects.toThrow('died before the commit');
    expect(await traces()).toEqual([0, 0, 0]);
  });

  it('with a cause id is applied once, also concurrently', async () => {
    await Promise.all(Array.from({ length: 5 }, () => named()));
    await named();
    expect(await traces()).toEqual([1, 1, 1]);
    expect((await get('/v2/customer/balance')).json.balanceCents).toBe(10_000);
  });

  it('with an expiry is spent first and must expire in the future', async () => {
    const past = await grant({ amountNanoUsd: '1', reason: 'too late', expiresAt: '2020-01-01T00:00:00Z' });
    expect(past.json.issues[0].code).toBe('in_the_past');
    await credit(fixture, tenant.organisation.id, { amount: usd(5) });
    await grant({ amountNanoUsd: '2000000000', reason: 'promotion', expiresAt: '2099-01-01T00:00:00Z' });
    await charge(fixture, tenant.organisation.id, { amount: usd(2) });
    const rows = await query(
      `select kind, balance_nano_usd::text as balance from ledger_accounts a join organisations o on o.id = a.org_id
       where o.slug = $1 and kind in ('credit', 'promo') order by kind`,
      [tenant.organisation.slug],
    );
    expect(rows).toEqual([
      { kind: 'credit', balance: '5000000000' },
      { kind: 'promo', balance: '0' },
    ]);
  });

  it('appears in the balance that operators see', async () => {
    await grant({ amountNanoUsd: '1500000001', reason: 'welcome' });
    const path = `/v2/admin/organisations/${tenant.organisation.id}/balance`;
    expect((await get(path, operator.owner.key)).json).toMatchObject({
      balanceNanoUsd: '1500000001',
      availableNanoUsd: '1500000001',
      frozen: false,
    });
  });

  it('is refused to tenants', async () => {
    const path = `/v2/admin/organisations/${tenant.organisation.id}/grants`;
    const own = await send('POST', path, { amountNanoUsd: '1', reason: 'for me' }, tenant.owner.key);
    expect(own.json.reason).toBe('INSUFFICIENT_SCOPE');
    expect((await get('/v2/customer/balance')).json.balanceNanoUsd).toBe('0');
  });
});

describe('adjustment', () => {
  const adjust = (amountNanoUsd: string) =>
    adminPost(`organisations/${tenant.organisation.id}/adjustments`, { amountNanoUsd });

  it('changes the balance up or down to its floor, and refuses zero', async () => {
    expect((await adjust('2000000000')).json.amountNanoUsd).toBe('2000000000');
    expect((await adjust('-500000000')).json.balanceAfterNanoUsd).toBe('1500000000');
    const tooMuch = await adjust('-1500000001');
    expect(tooMuch.status).toBe(402);
    expect(tooMuch.json.reason).toBe('INSUFFICIENT_BALANCE');
    expect((await adjust('0')).json.issues[0].code).toBe('zero_amount');
    expect((await adjust('9999999999999999999')).json.reason).toBe('VALIDATION_FAILED');
    expect((await get('/v2/customer/balance')).json.balanceNanoUsd).toBe('1500000000');
    const audit = await query(
      `select count(*)::int as count from audit_log a join organisations o on o.id = a.org_id
       where o.slug = $1 and action = 'money.adjusted'`,
      [tenant.organisation.slug],
    );
    expect(audit).toEqual([{ count: 2 }]);
  });

  it('never takes the balance below its floor concurrently', async () => {
    await adjust('1000000000');
    const responses = await Promise.all(Array.from({ length: 8 }, () => adjust('-300000000')));
    expect(responses.map((response) => response.status).toSorted((a, b) => a - b)).toEqual([
      201, 201, 201, 402, 402, 402, 402, 402,
    ]);
    expect((await get('/v2/customer/balance')).json.balanceNanoUsd).toBe('100000000');
  });
});

describe('refunds and reversals', () => {
  const refund = (transferId: string, amountNanoUsd?: string, who = tenant) =>
    adminPost(`organisations/${who.organisation.id}/refunds`, {
      transferId,
      ...(amountNanoUsd === undefined ? {} : { amountNanoUsd }),
    });
  const reverse = (transferId: string) => adminPost(`transfers/${transferId}/reverse`, {});

  it('never exceed the charge, also concurrently', async () => {
    await credit(fixture, tenant.organisation.id, { amount: usd(10) });
    const paid = await charge(fixture, tenant.organisation.id, { amount: usd(1) });
    const responses = await Promise.all(Array.from({ length: 5 }, () => refund(paid, '400000000')));
    expect(responses.map((response) => response.status).toSorted((a, b) => a - b)).toEqual([
      201, 201, 409, 409, 409,
    ]);
    const rest = await refund(paid);
    expect(rest.json).toMatchObject({ kind: 'refund', amountNanoUsd: '200000000', reverses: paid });
    expect((await refund(paid)).json.reason).toBe('TRANSFER_NOT_REVERSIBLE');
    expect((await get('/v2/customer/balance')).json.balanceNanoUsd).toBe('10000000000');
  });

  it('respond to a transfer of another organisation as to an unknown one', async () => {
    const theirs = await seedOrganisation(fixture.db);
    await credit(fixture, theirs.organisation.id, { amount: usd(1) });
    const foreign = await refund(await charge(fixture, theirs.organisation.id, { amount: usd(1) }));
    const absent = await refund('trf_01JD8Q7XK4T2M9V6B3N5C1F0GH');
    expect(foreign.status).toBe(404);
    expect(withoutRequestId(foreign.text)).toBe(withoutRequestId(absent.text));
  });

  it('undo a transfer once, and not after its money was spent', async () => {
    const made = await grant({ amountNanoUsd: '1000000000', reason: 'by mistake' });
    expect((await refund(made.json.id)).json.reason).toBe('TRANSFER_NOT_REVERSIBLE');
    await charge(fixture, tenant.organisation.id, { amount: usd(0.5) });
    expect((await reverse(made.json.id)).status).toBe(402);
    await credit(fixture, tenant.organisation.id, { amount: usd(2) });
    const undone = await reverse(made.json.id);
    expect(undone.json).toMatchObject({
      kind: 'reversal',
      amountNanoUsd: '-1000000000',
      reverses: made.json.id,
      reason: 'because of a test',
    });
    expect((await reverse(made.json.id)).status).toBe(409);
    expect((await get('/v2/customer/balance')).json.balanceNanoUsd).toBe('1500000000');
  });

  it('are listed for operators with their reason', async () => {
    await grant({ amountNanoUsd: '1000000000', reason: 'listed reason' });
    await charge(fixture, tenant.organisation.id, { amount: usd(1) });
    const path = `/v2/admin/transfers?organisationId=${tenant.organisation.id}`;
    const { json } = await get(path, operator.owner.key);
    expect(json.items).toMatchObject([
      { kind: 'charge', reason: null },
      { kind: 'grant', reason: 'listed reason', organisationId: tenant.organisation.id },
    ]);
    expect((await get(path)).json.reason).toBe('INSUFFICIENT_SCOPE');
  });
});

describe('overdraft and freeze', () => {
  const overdraft = (maxOverdraftNanoUsd: string) =>
    send(
      'PUT',
      `/v2/admin/organisations/${tenant.organisation.id}/overdraft`,
      { maxOverdraftNanoUsd, reason: 'by contract' },
      operator.owner.key,
    );

  it('allow a negative balance up to the overdraft, which cannot shrink below its use', async () => {
    const set = await overdraft('5009999999');
    expect(set.json, set.text).toMatchObject({
      maxOverdraftNanoUsd: '5009999999',
      availableNanoUsd: '5009999999',
    });
    await charge(fixture, tenant.organisation.id, { amount: usd(4) });
    expect((await get('/v2/customer/balance')).json).toMatchObject({
      balanceCents: -400,
      maxOverdraftCents: 500,
      availableNanoUsd: '1009999999',
    });
    expect((await overdraft('3000000000')).json.reason).toBe('OVERDRAFT_IN_USE');
    expect((await overdraft('4000000000')).status).toBe(200);
  });

  it('are idempotent when lifted by the operator', async () => {
    await credit(fixture, tenant.organisation.id, { amount: usd(1) });
    await query(
      `update ledger_accounts set frozen_at = now()
       where kind = 'credit' and org_id = (select id from organisations where slug = $1)`,
      [tenant.organisation.slug],
    );
    const unfreeze = () => adminPost(`organisations/${tenant.organisation.id}/unfreeze`, {});
    expect((await unfreeze()).json.frozen).toBe(false);
    expect((await unfreeze()).json.frozen).toBe(false);
    const audit = await query(
      `select count(*)::int as count from audit_log a join organisations o on o.id = a.org_id
       where o.slug = $1 and action = 'money.unfrozen'`,
      [tenant.organisation.slug],
    );
    expect(audit).toEqual([{ count: 1 }]);
  });
});

it('purchase history lists payments and grants with their source, newest first', async () => {
  await credit(fixture, tenant.organisation.id, { amount: usd(12.349) });
  await grant({ amountNanoUsd: '1000000000', reason: 'welcome' });
  await charge(fixture, tenant.organisation.id, { amount: usd(1) });
  const { json } = await get('/v1/billing/purchase_history');
  expect(json.purchase_history).toMatchObject([
    { amount: 100, amount_nano_usd: '1000000000', source: 'grant' },
    { amount: 1234, amount_nano_usd: '12349000000', source: 'payment' },
  ]);
});

describe('GET /v2/customer/ledger by cause', () => {
  const idsOf = async (filter: string) => {
    const { status, json, text } = await get(`/v2/customer/ledger?${filter}`);
    expect(status, text).toBe(200);
    return json.items.map((item: { cause: { id: string } }) => item.cause.id).toSorted();
  };

  it('returns exactly this cause, whatever characters its id contains', async () => {
    await credit(fixture, tenant.organisation.id, { amount: usd(10) });
    const ids = ['a', 'a:b', 'a%', 'a_', '%', 'A'];
    for (const id of ids) {
      await charge(fixture, tenant.organisation.id, { amount: usd(1), cause: { kind: 'rental', id } });
    }
    for (const id of ids) {
      expect(await idsOf(`causeKind=rental&causeId=${encodeURIComponent(id)}`)).toEqual([id]);
    }
    expect(await idsOf('causeKind=rental')).toEqual(ids.toSorted());
    for (const kind of ['rental:a', 'renta_', '%', 'rent']) {
      expect(await idsOf(`causeKind=${encodeURIComponent(kind)}`)).toEqual([]);
    }
  });
});

describe('out-of-range values', () => {
  it('are refused as amounts before they can overflow an account', async () => {
    const of = `organisations/${tenant.organisation.id}`;
    const tooMuch = ['10000000000000001', '999999999999999999'];
    const refusals = [
      ...(await Promise.all(tooMuch.map((amountNanoUsd) => adminPost(`${of}/grants`, { amountNanoUsd })))),
      await adminPost(`${of}/adjustments`, { amountNanoUsd: '9223372036854775807' }),
      await adminPost(`${of}/adjustments`, { amountNanoUsd: '-9223372036854775808' }),
      await send(
        'PUT',
        `/v2/admin/${of}/overdraft`,
        { maxOverdraftNanoUsd: '10000000000000001', reason: 'a test' },
        operator.owner.key,
      ),
    ];
    for (const { status, json, text } of refusals) {
      expect(status, text).toBe(400);
      expect(json.issues).toMatchObject([{ code: 'too_big' }]);
    }
    expect((await adminPost(`${of}/grants`, { amountNanoUsd: '10000000000000000' })).status).toBe(201);
  });

  it('are refused as a cursor', async () => {
    const cursor = Buffer.from(JSON.stringify({ by: 'key', group: 'a\u0000' })).toString('base64url');
    const { status, json } = await get(`/v2/customer/usage?groupBy=key&cursor=${cursor}`);
    expect([status, json.reason]).toEqual([400, 'INVALID_CURSOR']);
  });
});
