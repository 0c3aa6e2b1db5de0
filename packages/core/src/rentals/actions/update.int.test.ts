import { toUuid } from '@millrace/platform/ids';
import { afterAll, describe, expect, it } from 'vitest';
import { startRentalQueryApi } from '../read/rental-queries.fixture.ts';
import { HOUR_MS, type Tenant } from '../model/rental.fixture.ts';

const api = await startRentalQueryApi();
const { harness } = api;
afterAll(() => api.close());

async function insertOne(tenant: Tenant): Promise<number> {
  const inserted = await api.insertRentals(tenant, { live: 5 });
  const running = inserted[4];
  if (running === undefined) throw new Error('No rentals were inserted.');
  return running.wireId;
}

const pathOf = (wireId: number) => `/v2/alpha/on-demand/rentals/${wireId}`;
const patch = (who: Tenant, wireId: number, body: object, keyId?: Tenant['keys']['live']) =>
  api.send(who, 'live', { path: pathOf(wireId), body, ...(keyId === undefined ? {} : { keyId }) });
const commands = (wireId: number) =>
  harness.rows<{ count: number }>(
    `select count(*)::int as count from outbox where kind = 'command'
       and object_key = (select id::text from rentals where wire_id = ${wireId})`,
  );

describe('PATCH rentals/{id}', () => {
  it('changes only the named fields, returns the record, and writes an audit entry', async () => {
    const tenant = await harness.tenant();
    const wireId = await insertOne(tenant);
    const before = (await api.send(tenant, 'live', { path: pathOf(wireId) })).json;
    const body = { name: 'renamed', label: null, tags: { a: 'b' } };
    const { status, json } = await patch(tenant, wireId, body);
    expect(status).toBe(200);
    expect(json).toEqual({ ...before, ...body, updatedAt: harness.clock.now().toISOString() });
    expect((await api.send(tenant, 'live', { path: pathOf(wireId) })).json).toEqual(json);
    const audit = await harness.rows<{ before: object; after: object }>(
      `select before, after from audit_log where action = 'rental.changed' and resource_id = '${wireId}'`,
    );
    expect(audit).toEqual([
      { before: { name: before.name, label: 'planted', tags: { team: 'a' } }, after: body },
    ]);
    expect(await commands(wireId)).toEqual([{ count: 0 }]);
  });

  it('without fields changes nothing', async () => {
    const tenant = await harness.tenant();
    const wireId = await insertOne(tenant);
    const before = (await api.send(tenant, 'live', { path: pathOf(wireId) })).json;
    expect((await patch(tenant, wireId, {})).json).toEqual(before);
  });

  it('rejects an idle rule where the driver does not report GPU utilisation', async () => {
    const tenant = await harness.tenant();
    const wireId = await insertOne(tenant);
    const idle = { afterSeconds: 600, action: 'terminate' };
    expect(await patch(tenant, wireId, { idle })).toMatchObject({
      status: 400,
      json: { reason: 'IDLE_RULE_NOT_SUPPORTED' },
    });
    expect((await patch(tenant, wireId, { idle: null })).status).toBe(200);
    await harness.rows(`update providers set driver = 'mock'`);
    expect((await patch(tenant, wireId, { idle })).status).toBe(200);
  });

  it('reconciles the rental if its end moves, and counts the TTL from now', async () => {
    const tenant = await harness.tenant();
    const wireId = await insertOne(tenant);
    await harness.clock.advance(HOUR_MS);
    const body = {
      ttlSeconds: 7_200,
      maxUsd: 50,
      idle: { afterSeconds: 600 },
      convertToOnDemandOnExpiry: false,
    };
    const { json } = await patch(tenant, wireId, body);
    expect(json).toMatchObject({
      expiresAt: new Date(harness.clock.nowMs() + 2 * HOUR_MS).toISOString(),
      maxUsd: 50,
      convertToOnDemandOnExpiry: false,
    });
    expect(
      await harness.rows(`select idle_after_seconds, idle_action, max_nano_usd::text as max from rentals
        where wire_id = ${wireId}`),
    ).toEqual([{ idle_after_seconds: 600, idle_action: 'stop', max: '50000000000' }]);
    expect(await commands(wireId)).toEqual([{ count: 1 }]);
    const lifted = await patch(tenant, wireId, { ttlSeconds: null, maxUsd: null, idle: null });
    expect(lifted.json).toMatchObject({ expiresAt: null, maxUsd: null });
  });

  it.each([
    ['Pending', 200, null],
    ['Running', 200, null],
    ['Unknown', 200, null],
    ['Terminating', 400, 'ACTION_IN_PROGRESS'],
    ['Failed', 400, 'ALREADY_TERMINATED'],
    ['Terminated', 400, 'ALREADY_TERMINATED'],
  ])('in %s returns %i %s, as the state table defines', async (state, status, reason) => {
    const tenant = await harness.tenant();
    await api.insertRentals(tenant, { live: 100, ended: 1 });
    const [found] = await harness.rows<{ wire_id: number }>(
      `select wire_id from rentals where status = '${state}' and org_id = '${toUuid(tenant.orgId)}'`,
    );
    const response = await patch(tenant, found?.wire_id ?? 0, { name: 'x' });
    expect([response.status, response.json.reason ?? null]).toEqual([status, reason]);
  });

  it('cannot extend a rental beyond the limit of the key by repeated updates', async () => {
    const tenant = await harness.tenant();
    const wireId = await insertOne(tenant);
    const keyId = await harness.limitedKey(tenant, 'live', { maxRentalSeconds: 7_200 });
    expect((await patch(tenant, wireId, { ttlSeconds: 3_600 }, keyId)).status).toBe(200);
    await harness.clock.advance(1.5 * HOUR_MS);
    for (const ttlSeconds of [3_600, null]) {
      const response = await patch(tenant, wireId, { ttlSeconds }, keyId);
      expect([response.status, response.json.reason]).toEqual([403, 'KEY_LIMIT_EXCEEDED']);
    }
    expect((await patch(tenant, wireId, { ttlSeconds: 3_600 })).status).toBe(200);
  });

  it('rejects a spending limit below the present cost', async () => {
    const tenant = await harness.tenant();
    const wireId = await insertOne(tenant);
    const response = await patch(tenant, wireId, { maxUsd: 3.5 });
    expect(response).toMatchObject({
      status: 400,
      json: { reason: 'VALIDATION_FAILED', issues: [{ path: ['maxUsd'] }] },
    });
  });

  it('serialises concurrent updates without losing any, and audits each', async () => {
    const tenant = await harness.tenant();
    const wireId = await insertOne(tenant);
    const names = Array.from({ length: 8 }, (_, nth) => `name-${nth}`);
    const responses = await Promise.all(
      names.map((name) => patch(tenant, wireId, { name, ttlSeconds: 600 })),
    );
    expect(responses.map(({ status }) => status)).toEqual(names.map(() => 200));
    const audit = await harness.rows<{ before: { name: string }; after: { name: string } }>(
      `select before, after from audit_log where action = 'rental.changed' and resource_id = '${wireId}' order by id`,
    );
    expect(audit.map(({ after }) => after.name).toSorted()).toEqual(names);
    const { json } = await api.send(tenant, 'live', { path: pathOf(wireId) });
    // Each audit entry starts from the result of the previous one, so no update was lost.
    const begins = new Map(audit.map(({ before, after }) => [before.name, after.name]));
    let last = audit.find(({ before }) => before.name.startsWith('rental-'))?.before.name ?? '';
    for (let next = begins.get(last); next !== undefined; next = begins.get(last)) last = next;
    expect(json.name).toBe(last);
  });
});
