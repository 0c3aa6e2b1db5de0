import { afterAll, describe, expect, it } from 'vitest';
import { seedOrganisation, startRoutes } from '../../routes.fixture.ts';
import { mintKey } from '../index.ts';

const fixture = await startRoutes();
const own = await seedOrganisation(fixture.db);
const theirs = await seedOrganisation(fixture.db);
afterAll(() => fixture[Symbol.asyncDispose]());

async function createKey(caller: string, request: object, headers: Record<string, string> = {}) {
  const body = { name: 'made in a test', scopes: ['rentals:read'], ...request };
  return fixture.call({ method: 'POST', path: '/v2/api-keys', key: caller, body, headers });
}
async function made(
  caller: string,
  request: object,
): Promise<{ id: string; key: string; [field: string]: unknown }> {
  const response = await createKey(caller, request);
  expect(response.status, response.text).toBe(201);
  return response.json;
}
const get = (path: string, key: string) => fixture.call({ method: 'GET', path, key });
const withoutRequestId = (text: string) => text.replace(/"requestId":"[^"]*"/, '');

describe('getMe', () => {
  it('returns the user, the organisation, the role and the rights of the key', async () => {
    const { json } = await get('/v2/me', own.owner.key);
    expect(json).toMatchObject({
      user: { id: own.owner.userId },
      organisation: { id: own.organisation.id, status: 'active' },
      role: 'owner',
      platformRoles: [],
      mode: 'live',
      key: { id: own.owner.keyId, allowedIps: [] },
    });
    expect(json.scopes).toContain('organisation:write');
    expect(json.scopes).not.toContain('admin:read');
  });
});

describe('API keys', () => {
  it('are shown once and work at once', async () => {
    const { key, id } = await made(own.owner.key, {});
    expect(key).toMatch(/^mr_live_[0-9A-Z]{12}_[0-9A-Za-z]{38}$/);
    expect((await get('/v2/me', key)).json.key.id).toBe(id);
    const read = await get(`/v2/api-keys/${id}`, own.owner.key);
    expect(read.json).not.toHaveProperty('key');
    expect(read.text).not.toContain(key.slice(-38));
  });

  it('leave no trace of their secret in rows, audit log, events or log lines', async () => {
    const response = await createKey(own.owner.key, {}, { 'idempotency-key': 'secret-trace' });
    const secret = String(response.json.key).slice(-38, -6);
    const { rows: tables } = await fixture.database.query<{ name: string }>(
      `select table_name as name from information_schema.tables where table_schema = 'public'`,
    );
    for (const { name } of tables) {
      const { rows } = await fixture.database.query(`select 1 from ${name} as t where t::text like $1`, [
        `%${secret}%`,
      ]);
      expect(rows.length, name).toBe(0);
    }
    expect(fixture.logs()).not.toContain(secret);
  });

  it('never get more rights than their creator has', async () => {
    const narrow = await made(own.owner.key, { scopes: ['api-keys:write', 'api-keys:read'] });
    const escalation = await createKey(narrow.key, { scopes: ['rentals:write'] });
    expect(escalation.status).toBe(403);
    expect(escalation.json).toMatchObject({ reason: 'SCOPE_ESCALATION', issues: [{ path: ['scopes', 0] }] });
    const admin = await createKey(own.owner.key, { scopes: ['admin:write'] });
    expect(admin.json.reason).toBe('SCOPE_ESCALATION');
  });

  it('of members become weaker with their role', async () => {
    const person = await own.addPerson('admin');
    const key = await made(person.key, { scopes: ['rentals:write', 'api-keys:read'] });
    const path = `/v2/organisations/${own.organisation.id}/members/${person.userId}`;
    const demotion = await fixture.call({
      method: 'PATCH',
      path,
      key: own.owner.key,
      body: { role: 'billing' },
    });
    expect(demotion.status, demotion.text).toBe(200);
    expect((await get('/v2/api-keys', key.key)).json.reason).toBe('INSUFFICIENT_SCOPE');
    expect((await get('/v2/me', key.key)).json.scopes).toEqual([]);
  });

  it('of test mode see and create test keys only', async () => {
    const test = await own.ownerKey('test');
    expect((await createKey(test.key, {})).json.reason).toBe('SCOPE_ESCALATION');
    const child = await made(test.key, { mode: 'test' });
    expect((await get(`/v2/api-keys/${child.id}`, test.key)).status).toBe(200);
    const live = await get(`/v2/api-keys/${own.owner.keyId}`, test.key);
    expect(live.json.reason).toBe('API_KEY_NOT_FOUND');
    const { json } = await get('/v2/api-keys?limit=200', test.key);
    expect(new Set(json.items.map((item: { mode: string }) => item.mode))).toEqual(new Set(['test']));
  });

  it('get byte-identical responses for absent and foreign ids', async () => {
    const foreign = await get(`/v2/api-keys/${theirs.owner.keyId}`, own.owner.key);
    const absent = await get(`/v2/api-keys/${theirs.owner.keyId.slice(0, -1)}0`, own.owner.key);
    const neverUuid = await get('/v2/api-keys/key_00000000000000000000000000', own.owner.key);
    expect(foreign.status).toBe(404);
    expect(withoutRequestId(absent.text)).toBe(withoutRequestId(foreign.text));
    expect(withoutRequestId(neverUuid.text)).toBe(withoutRequestId(foreign.text));
    const revoke = await fixture.call({
      method: 'DELETE',
      path: `/v2/api-keys/${theirs.owner.keyId}`,
      key: own.owner.key,
    });
    expect(withoutRequestId(revoke.text)).toBe(withoutRequestId(foreign.text));
    expect((await get('/v2/me', theirs.owner.key)).status).toBe(200);
  });

  it('are rejected from their revocation on, which is idempotent', async () => {
    const { id, key } = await made(own.owner.key, {});
    expect((await get('/v2/me', key)).status).toBe(200);
    const revoke = () => fixture.call({ method: 'DELETE', path: `/v2/api-keys/${id}`, key: own.owner.key });
    const [first, second] = [await revoke(), await revoke()];
    expect(first.status).toBe(200);
    expect(second.text).toBe(first.text);
    expect((await get('/v2/me', key)).json).toMatchObject({
      reason: 'API_KEY_REVOKED',
      code: 'UNAUTHORIZED',
    });
    const { rows } = await query(
      `select type, payload from outbox where resource_id = $1 and type = 'key.revoked'
       union all select type, data from events where resource_id = $1 and type = 'key.revoked'`,
      [id],
    );
    expect(rows).toHaveLength(1);
    expect(rows[0].payload).toMatchObject({ keyId: id, cause: 'revoked' });
  });

  it('can be revoked only by their own user, an admin or an owner', async () => {
    const [member, other, admin] = [
      await own.addPerson('member'),
      await own.addPerson('member'),
      await own.addPerson('admin'),
    ];
    const { id } = await made(member.key, {});
    const revokeAs = (key: string) => fixture.call({ method: 'DELETE', path: `/v2/api-keys/${id}`, key });
    expect((await revokeAs(other.key)).status).toBe(403);
    expect((await revokeAs(admin.key)).status).toBe(200);
  });

  it('are rejected from outside their networks, and only then', async () => {
    const { key } = await made(own.owner.key, { allowedIps: ['203.0.113.0/24'] });
    const from = (address: string) =>
      fixture.call({ method: 'GET', path: '/v2/me', key, headers: { 'x-forwarded-for': address } });
    expect((await from('203.0.113.7')).status).toBe(200);
    expect((await from('::ffff:203.0.113.7')).status).toBe(200);
    expect((await from('203.0.114.7')).json.reason).toBe('IP_NOT_ALLOWED');
  });

  it('are rejected without a look-up if malformed, and as unknown without revealing whether the public id exists', async () => {
    const { key } = await made(own.owner.key, {});
    expect((await get('/v2/me', `${key.slice(0, -1)}!`)).json.reason).toBe('MALFORMED_API_KEY');
    const unknown = await get('/v2/me', mintKey('live').text);
    expect(unknown.json.reason).toBe('INVALID_API_KEY');
  });

  it.each([
    ['an expiry in the past', { expiresAt: '2020-01-01T00:00:00Z' }, 'in_the_past'],
    ['bits beyond the prefix', { allowedIps: ['10.0.0.1/8'] }, 'invalid_network'],
    [
      'a limited key that can create keys',
      { scopes: ['api-keys:write'], limits: { rpm: 5 } },
      'limited_key_creates_keys',
    ],
  ])('are rejected with %s', async (_what, request, code) => {
    const response = await createKey(own.owner.key, request);
    expect(response.status).toBe(400);
    expect(response.json.issues.map((issue: { code: string }) => issue.code)).toContain(code);
  });

  it('are listed newest first, in pages, each once', async () => {
    for (let count = 0; count < 6; count += 1) await made(own.owner.key, {});
    const seen: string[] = [];
    let path: string | null = '/v2/api-keys?limit=3';
    while (path !== null) {
      const { json } = await get(path, own.owner.key);
      seen.push(...json.items.map((item: { id: string }) => item.id));
      path = json.nextCursor === null ? null : `/v2/api-keys?limit=3&cursor=${json.nextCursor}`;
    }
    expect(seen).toEqual([...new Set(seen)].toSorted().toReversed());
    expect(seen.length).toBeGreaterThan(5);
    const foreignCursor = Buffer.from(JSON.stringify({ id: own.organisation.id })).toString('base64url');
    expect((await get(`/v2/api-keys?cursor=${foreignCursor}`, own.owner.key)).status).toBe(400);
  });
});

describe('key rotation', () => {
  const rotate = (id: string, key: string, body: object = {}, headers: Record<string, string> = {}) =>
    fixture.call({ method: 'POST', path: `/v2/api-keys/${id}/rotate`, key, body, headers });

  it('without overlap ends the old key at once and keeps its rights', async () => {
    const old = await made(own.owner.key, {
      scopes: ['api-keys:write', 'rentals:read'],
      allowedIps: ['127.0.0.1'],
    });
    const response = await rotate(old.id, old.key);
    expect(response.status, response.text).toBe(201);
    expect(response.json).toMatchObject({
      rotatedFrom: old.id,
      previous: { id: old.id },
      scopes: old['scopes'],
      allowedIps: ['127.0.0.1/32'],
    });
    expect((await get('/v2/me', old.key)).json.reason).toBe('API_KEY_REVOKED');
    expect((await get('/v2/me', response.json.key)).status).toBe(200);
  });

  it('with overlap lets both keys work, and schedules the end of the old one', async () => {
    const old = await made(own.owner.key, {});
    const { json } = await rotate(old.id, own.owner.key, { overlapSeconds: 3600 });
    expect((await get('/v2/me', old.key)).status).toBe(200);
    expect((await get('/v2/me', json.key)).status).toBe(200);
    const stored = await get(`/v2/api-keys/${old.id}`, own.owner.key);
    expect(stored.json.expiresAt).toBe(json.previous.expiresAt);
    const { rows } = await query(
      `select next_action_at = expires_at as planned from api_keys where public_id = $1`,
      [stored.json.publicId],
    );
    expect(rows).toEqual([{ planned: true }]);
  });

  it('happens once: a key has one successor, even with ten concurrent callers', async () => {
    const old = await made(own.owner.key, {});
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => rotate(old.id, own.owner.key, { overlapSeconds: 60 })),
    );
    expect(responses.filter((response) => response.status === 201)).toHaveLength(1);
    expect(
      new Set(
        responses.filter((response) => response.status !== 201).map((response) => response.json.reason),
      ),
    ).toEqual(new Set(['API_KEY_NOT_REPLACEABLE']));
  });

  it("is limited to the key's own user: no other user gets a secret that works in that name", async () => {
    const member = await own.addPerson('member');
    expect((await rotate(member.keyId, own.owner.key)).json.reason).toBe('SCOPE_ESCALATION');
    const narrow = await made(own.owner.key, { scopes: ['api-keys:write'] });
    const wide = await made(own.owner.key, { scopes: ['api-keys:write', 'rentals:write'] });
    expect((await rotate(wide.id, narrow.key)).json.reason).toBe('SCOPE_ESCALATION');
  });

  it('is replayed without the secret', async () => {
    const old = await made(own.owner.key, {});
    const again = () => rotate(old.id, own.owner.key, {}, { 'idempotency-key': `rotate-${old.id}` });
    const [first, second] = [await again(), await again()];
    expect(second.headers['idempotent-replayed']).toBe('true');
    expect(second.json).toEqual({ ...first.json, key: null });
  });
});

async function query(text: string, values: unknown[] = []) {
  return fixture.database.query(text, values);
}
