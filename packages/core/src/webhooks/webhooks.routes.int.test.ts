import { toUuid } from '@millrace/platform/ids';
import { createNetGuard } from '@millrace/platform/net';
import { testIds, type CallResponse, type CallRequest } from '@millrace/testing';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { seedOrganisation, startRoutes, type SeededOrganisation } from '../routes.fixture.ts';
import { serveWebhooks } from './index.ts';

/** Tests the webhook operations of owners. No worker sends deliveries here. */

let acme: SeededOrganisation;
const fixture = await startRoutes((deps) =>
  serveWebhooks({ ...deps, guard: createNetGuard({ allowedNetworks: [] }) }),
);
beforeEach(async () => {
  acme = await seedOrganisation(fixture.db);
});
afterAll(() => fixture[Symbol.asyncDispose]());

const url = 'https://hooks.example.com/in?token=hidden-from-logs';
const call = (
  method: CallRequest['method'],
  path: string,
  body?: unknown,
  { key = acme.owner.key, idempotencyKey }: { key?: string; idempotencyKey?: string } = {},
): Promise<CallResponse> =>
  fixture.call({
    method,
    path: `/v2/webhooks${path}`,
    key,
    ...(body === undefined ? {} : { body }),
    ...(idempotencyKey === undefined ? {} : { headers: { 'idempotency-key': idempotencyKey } }),
  });

async function newWebhook(body: object = {}, key?: string): Promise<string> {
  const made = await call('POST', '', { url, ...body }, key === undefined ? {} : { key });
  expect(made.status).toBe(201);
  return made.json.id;
}

/** Numbers events, as the relay does. */
async function publish(count: number, type = 'key.created'): Promise<void> {
  await fixture.database.query(
    `with head as (
       insert into event_heads as head (org_id, last_seq) values ($1, $2)
       on conflict (org_id) do update set last_seq = head.last_seq + $2 returning last_seq)
     insert into events (org_id, seq, id, type, resource_kind, resource_id, mode, cell, shard, actor, schema_version,
                         api_version, occurred_at, data)
     select $1, last_seq - $2 + nth, id, $4, 'api-key', 'a', 'live', 1, 1, '{"kind":"system","id":"test"}', 1, '2.0.0',
            now(), '{}'
       from head, unnest($3::uuid[]) with ordinality as made (id, nth)`,
    [
      toUuid(acme.organisation.id),
      count,
      Array.from({ length: count }, () => toUuid(testIds.next('evt'))),
      type,
    ],
  );
}

/** Sets the status of all deliveries, as a worker would. */
async function settle(id: string, status: 'succeeded' | 'failed'): Promise<void> {
  await fixture.database.query(
    `update webhook_deliveries set status = $2, next_attempt_at = null, failures = 8 where webhook_id = (
       select id from webhooks where org_id = $1 order by id desc limit 1)`,
    [toUuid(acme.organisation.id), status],
  );
  expect(id).toMatch(/^whk_/);
}

const numbers = (response: CallResponse): number[] =>
  response.json.items.map(({ seq }: { seq: number }) => seq);

it('webhooks can be created, listed, read, changed and deleted; the secret is shown once', async () => {
  const body = { url, description: ' robots ', eventTypes: ['key.created', 'key.created', 'key.revoked'] };
  const made = await call('POST', '', body, { idempotencyKey: 'once' });
  expect(made.status).toBe(201);
  expect(made.json.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const replayed = await call('POST', '', body, { idempotencyKey: 'once' });
  expect(replayed.json).toEqual({ ...made.json, secret: null });
  const { secret: _secret, ...shown } = made.json;
  expect(shown).toMatchObject({
    description: 'robots',
    eventTypes: ['key.created', 'key.revoked'],
    status: 'enabled',
    disabledReason: null,
    failingSince: null,
  });
  const { id } = shown;
  expect((await call('GET', '')).json).toEqual({ items: [shown], nextCursor: null });
  const off = await call('PATCH', `/${id}`, { status: 'disabled', eventTypes: ['*'] });
  expect(off.json).toMatchObject({ status: 'disabled', eventTypes: ['*'] });
  expect(off.json.disabledReason).toBe('Disabled by its owner.');
  const on = await call('PATCH', `/${id}`, { status: 'enabled' });
  expect(on.json).toMatchObject({ status: 'enabled', disabledReason: null });
  expect((await call('DELETE', `/${id}`)).status).toBe(204);
  expect((await call('GET', `/${id}`)).json.reason).toBe('WEBHOOK_NOT_FOUND');
  expect((await call('DELETE', `/${id}`)).status).toBe(404);
  expect((await call('GET', '')).json.items).toEqual([]);
});

it('webhook secrets are stored sealed, and logs contain only the origin of a URL', async () => {
  const made = await call('POST', '', { url });
  const rotated = await call('POST', `/${made.json.id}/rotate-secret`, { overlapSeconds: 60 });
  expect(rotated.status).toBe(201);
  expect(rotated.json.secret).toMatch(/^whsec_/);
  expect(rotated.json.secret).not.toBe(made.json.secret);
  const row = await fixture.db.kysely
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', toUuid(made.json.id))
    .executeTakeFirstOrThrow();
  expect(row.previous_secret_sealed).not.toBeNull();
  const audited = await fixture.call({ method: 'GET', path: '/v2/audit-log', key: acme.owner.key });
  for (const text of [JSON.stringify(row), fixture.logs(), audited.text]) {
    for (const { json } of [made, rotated]) expect(text).not.toContain(json.secret.slice('whsec_'.length));
  }
  expect(audited.text).toContain('webhook.secret_rotated');
  for (const text of [fixture.logs(), audited.text]) expect(text).not.toContain('hidden-from-logs');
  const none = await call('POST', `/${made.json.id}/rotate-secret`, { overlapSeconds: 0 });
  expect(none.status).toBe(201);
  const { previous_secret_sealed: previous } = await fixture.db.kysely
    .selectFrom('webhooks')
    .select('previous_secret_sealed')
    .where('id', '=', toUuid(made.json.id))
    .executeTakeFirstOrThrow();
  expect(previous).toBeNull();
});

it.each([
  ['https://127.0.0.1/x', 422, 'WEBHOOK_URL_REFUSED'],
  ['https://[fd00::1]/x', 422, 'WEBHOOK_URL_REFUSED'],
  ['https://localhost:8443/x', 422, 'WEBHOOK_URL_REFUSED'],
  ['https://user:pass@hooks.example.com/', 422, 'WEBHOOK_URL_REFUSED'],
  ['http://hooks.example.com/', 400, 'VALIDATION_FAILED'],
])('createWebhook and updateWebhook refuse %s', async (refused, status, reason) => {
  const made = await call('POST', '', { url: refused });
  expect([made.status, made.json.reason]).toEqual([status, reason]);
  const changed = await call('PATCH', `/${await newWebhook()}`, { url: refused });
  expect([changed.status, changed.json.reason]).toEqual([status, reason]);
});

it('webhooks are limited to twenty in each mode and invisible to keys of the other mode', async () => {
  const testKey = (await acme.ownerKey('test')).key;
  const id = await newWebhook();
  expect((await call('GET', `/${id}`, undefined, { key: testKey })).status).toBe(404);
  for (let nth = 1; nth < 20; nth += 1) await newWebhook();
  const refused = await call('POST', '', { url });
  expect([refused.status, refused.json.reason]).toEqual([409, 'WEBHOOK_LIMIT_REACHED']);
  await newWebhook({}, testKey);
  expect((await call('DELETE', `/${id}`)).status).toBe(204);
  await newWebhook();
});

it('listWebhookDeliveries returns deliveries newest first, by page and by status', async () => {
  const id = await newWebhook();
  await publish(5);
  const first = await call('GET', `/${id}/deliveries?limit=2`);
  expect(numbers(first)).toEqual([5, 4]);
  const second = await call('GET', `/${id}/deliveries?limit=2&cursor=${first.json.nextCursor}`);
  expect(numbers(second)).toEqual([3, 2]);
  expect(first.json.items[0]).toMatchObject({
    webhookId: id,
    eventType: 'key.created',
    status: 'pending',
    attempts: [],
  });
  await settle(id, 'failed');
  await publish(1);
  expect(numbers(await call('GET', `/${id}/deliveries?status=pending`))).toEqual([6]);
  expect(numbers(await call('GET', `/${id}/deliveries?status=failed&limit=100`))).toEqual([5, 4, 3, 2, 1]);
});

it('replay sends one delivery again, or a range including events that were never sent', async () => {
  await publish(2);
  const id = await newWebhook({ eventTypes: ['key.created'] });
  await publish(2);
  await publish(1, 'key.revoked');
  expect(numbers(await call('GET', `/${id}/deliveries`))).toEqual([4, 3]);
  await settle(id, 'succeeded');
  const [newest] = (await call('GET', `/${id}/deliveries`)).json.items;
  const again = await call('POST', `/${id}/deliveries/${newest.id}/replay`, undefined);
  expect(again.status).toBe(202);
  expect(again.json).toMatchObject({ id: newest.id, seq: 4, status: 'pending' });
  const range = await call('POST', `/${id}/replay`, { after: 1 });
  expect(range.json).toEqual({ webhookId: id, eventCount: 3, nextAfter: null });
  const { items } = (await call('GET', `/${id}/deliveries`)).json;
  expect(items.map(({ seq, status }: { seq: number; status: string }) => `${seq} ${status}`)).toEqual([
    '4 pending',
    '3 pending',
    '2 pending',
  ]);
  expect(items[0].id).toBe(newest.id);
  expect((await call('POST', `/${id}/replay`, { after: 1, until: 2 })).json.eventCount).toBe(1);
});

it('a disabled webhook gets no deliveries, and its pending ones are abandoned', async () => {
  const id = await newWebhook();
  await publish(3);
  const { items } = (await call('GET', `/${id}/deliveries`)).json;
  await call('PATCH', `/${id}`, { status: 'disabled' });
  await publish(1);
  const { items: after } = (await call('GET', `/${id}/deliveries`)).json;
  expect(after.map(({ status }: { status: string }) => status)).toEqual(Array(3).fill('abandoned'));
  for (const path of [`/${id}/deliveries/${items[0].id}/replay`, `/${id}/replay`]) {
    const refused = await call('POST', path, path.endsWith(`${id}/replay`) ? { after: 0 } : undefined);
    expect([refused.status, refused.json.reason]).toEqual([409, 'WEBHOOK_DISABLED']);
  }
});
