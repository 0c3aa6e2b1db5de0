import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  seedOrganisation,
  startApiFixture,
  type ApiFixture,
  type SeededOrganisation,
} from './api.fixture.ts';

let fixture: ApiFixture;
let operator: SeededOrganisation;
let theirs: SeededOrganisation;

beforeAll(async () => {
  fixture = await startApiFixture({ openDocuments: true, publicUrl: 'https://api.example.com' });
  operator = await seedOrganisation(fixture.db, { platformRole: 'operator' });
  theirs = await seedOrganisation(fixture.db);
});
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
});

const get = (path: string, key: string) => fixture.call({ method: 'GET', path, key });
const withoutRequestId = (text: string) => text.replace(/"requestId":"[^"]*"/, '');
const memberPath = (organisation: SeededOrganisation, userId: string) =>
  `/v2/organisations/${organisation.organisation.id}/members/${userId}`;
const setRole = (organisation: SeededOrganisation, userId: string, role: string, key: string) =>
  fixture.call({ method: 'PATCH', path: memberPath(organisation, userId), key, body: { role } });
const remove = (organisation: SeededOrganisation, userId: string, key: string) =>
  fixture.call({ method: 'DELETE', path: memberPath(organisation, userId), key });

describe('members', () => {
  it('are promoted and demoted by owners; admins reach neither owners nor ownership', async () => {
    const own = await seedOrganisation(fixture.db);
    const [admin, member] = [await own.addPerson('admin'), await own.addPerson('member')];
    expect((await setRole(own, member.userId, 'admin', admin.key)).json).toMatchObject({ role: 'admin' });
    expect((await setRole(own, member.userId, 'owner', admin.key)).json.reason).toBe('SCOPE_ESCALATION');
    expect((await setRole(own, own.owner.userId, 'viewer', admin.key)).json.reason).toBe('SCOPE_ESCALATION');
    expect((await remove(own, own.owner.userId, admin.key)).json.reason).toBe('SCOPE_ESCALATION');
    expect((await setRole(own, member.userId, 'owner', own.owner.key)).status).toBe(200);
  });

  it('lose their keys with their membership, each announced once', async () => {
    const own = await seedOrganisation(fixture.db);
    const member = await own.addPerson('member');
    expect((await get('/v2/me', member.key)).status).toBe(200);
    expect((await remove(own, member.userId, own.owner.key)).status).toBe(204);
    expect((await get('/v2/me', member.key)).json.reason).toBe('API_KEY_REVOKED');
    expect((await remove(own, member.userId, own.owner.key)).json.reason).toBe('MEMBER_NOT_FOUND');
    const client = await fixture.database.connect();
    const { rows } = await client.query(
      `select payload->>'cause' as cause from outbox where resource_id = $1 and type = 'key.revoked'`,
      [member.keyId],
    );
    await client.end();
    expect(rows).toEqual([{ cause: 'member_removed' }]);
  });

  it('may leave by themselves where their role lets them, but not as the last owner', async () => {
    const own = await seedOrganisation(fixture.db);
    const admin = await own.addPerson('admin');
    expect((await remove(own, admin.userId, admin.key)).status).toBe(204);
    expect((await get('/v2/me', admin.key)).status).toBe(401);
    expect((await remove(own, own.owner.userId, own.owner.key)).json.reason).toBe('LAST_OWNER');
    expect((await setRole(own, own.owner.userId, 'viewer', own.owner.key)).json.reason).toBe('LAST_OWNER');
    const member = await own.addPerson('member');
    expect((await remove(own, member.userId, member.key)).json.reason).toBe('INSUFFICIENT_SCOPE');
  });

  it('keep an owner among them when two owners demote each other at the same instant', async () => {
    for (let round = 0; round < 5; round++) {
      const own = await seedOrganisation(fixture.db);
      const second = await own.addPerson('owner');
      const responses = await Promise.all([
        setRole(own, second.userId, 'member', own.owner.key),
        setRole(own, own.owner.userId, 'member', second.key),
        remove(own, own.owner.userId, second.key),
        remove(own, second.userId, own.owner.key),
      ]);
      for (const { status } of responses) expect([200, 204, 401, 403, 404, 409]).toContain(status);
      const client = await fixture.database.connect();
      const { rows } = await client.query(
        `select count(*)::int as owners from members m join organisations o on o.id = m.org_id
         where o.slug = $1 and m.role = 'owner'`,
        [own.organisation.slug],
      );
      await client.end();
      expect(rows[0].owners).toBeGreaterThanOrEqual(1);
    }
  });

  it('answer for absent and foreign ids byte for byte alike', async () => {
    const own = await seedOrganisation(fixture.db);
    const foreignOrg = await setRole(theirs, theirs.owner.userId, 'viewer', own.owner.key);
    const foreignUser = await setRole(own, theirs.owner.userId, 'viewer', own.owner.key);
    expect(foreignOrg.status).toBe(404);
    expect(withoutRequestId(foreignUser.text)).toBe(withoutRequestId(foreignOrg.text));
    const organisation = await get(`/v2/organisations/${theirs.organisation.id}`, own.owner.key);
    const absent = await get('/v2/organisations/org_01JD8Q7XK4T2M9V6B3N5C1F0GH', own.owner.key);
    expect(organisation.status).toBe(404);
    expect(withoutRequestId(absent.text)).toBe(withoutRequestId(organisation.text));
    expect((await get(`/v2/organisations/${theirs.organisation.id}/members`, own.owner.key)).status).toBe(
      404,
    );
  });
});

describe('an organisation', () => {
  it('is renamed by its owner, and the audit log tells from what to what, by whom and from where', async () => {
    const own = await seedOrganisation(fixture.db);
    const path = `/v2/organisations/${own.organisation.id}`;
    const response = await fixture.call({
      method: 'PATCH',
      path,
      key: own.owner.key,
      body: { name: 'Renamed' },
    });
    expect(response.json).toMatchObject({ id: own.organisation.id, name: 'Renamed' });
    const { json } = await get('/v2/audit-log?action=organisation.updated', own.owner.key);
    expect(json.items).toHaveLength(1);
    expect(json.items[0]).toMatchObject({
      actor: { kind: 'key', id: own.owner.keyId },
      resource: { kind: 'organisation', id: own.organisation.id },
      details: { before: { name: own.organisation.name }, after: { name: 'Renamed' } },
      requestId: response.headers['x-request-id'],
      ip: '127.0.0.1',
    });
    expect((await get('/v2/organisations', own.owner.key)).json.items).toHaveLength(1);
  });

  it('sees nothing of another organisation in its audit log', async () => {
    const own = await seedOrganisation(fixture.db);
    const { json } = await get('/v2/audit-log?limit=200', own.owner.key);
    const owners = new Set(json.items.map((item: { organisationId: string }) => item.organisationId));
    expect(owners).toEqual(new Set([own.organisation.id]));
  });

  it('cannot have its audit log rewritten, not even by the application', async () => {
    const client = await fixture.database.connect();
    for (const change of [
      `update audit_log set action = 'a.b'`,
      'delete from audit_log',
      'truncate audit_log',
    ]) {
      await expect(client.query(change), change).rejects.toThrow('append-only');
    }
    await client.end();
  });
});

describe('operators', () => {
  const admin = (method: 'GET' | 'POST', path: string, body?: object, key = operator.owner.key) =>
    fixture.call({ method, path: `/v2/admin/${path}`, key, ...(body === undefined ? {} : { body }) });

  it('make organisations and put people into them; others may not', async () => {
    const body = { name: 'Grüße & Söhne GmbH', owner: { email: 'Owner@Example.com' } };
    const made = await admin('POST', 'organisations', body);
    expect(made.status, made.text).toBe(201);
    expect(made.json).toMatchObject({ slug: 'gru-e-so-hne-gmbh', status: 'active', homeCell: 1 });
    expect((await admin('POST', 'organisations', body)).json.slug).toBe('gru-e-so-hne-gmbh-2');
    expect((await admin('POST', 'organisations', { ...body, slug: 'gru-e-so-hne-gmbh' })).json.reason).toBe(
      'ORGANISATION_SLUG_TAKEN',
    );
    const path = `organisations/${made.json.id}/members`;
    const person = { email: 'new@example.com', role: 'viewer' };
    expect((await admin('POST', path, person)).json).toMatchObject({
      role: 'viewer',
      email: 'new@example.com',
    });
    expect((await admin('POST', path, person)).json.reason).toBe('MEMBER_EXISTS');
    expect((await admin('POST', 'organisations', body, theirs.owner.key)).json.reason).toBe(
      'INSUFFICIENT_SCOPE',
    );
    expect((await admin('GET', 'organisations?status=active&limit=1')).json.items).toHaveLength(1);
    expect((await admin('GET', `organisations/${made.json.id}`)).json.id).toBe(made.json.id);
  });

  it('are found by a part of their name or slug, in which no character means anything else', async () => {
    const owner = { email: 'finder@example.com' };
    const made = await admin('POST', 'organisations', {
      name: '100%_Sure Ltd',
      owner,
      reason: 'asked by mail',
    });
    const found = async (search: string) =>
      (await admin('GET', `organisations?limit=200&search=${encodeURIComponent(search)}`)).json.items.map(
        ({ id }: { id: string }) => id,
      );
    expect(await found('100%_sure')).toEqual([made.json.id]);
    expect(await found(made.json.slug)).toContain(made.json.id);
    expect(await found('%')).toEqual([made.json.id]);
    expect(await found('1_0')).toEqual([]);
    expect(await found('\\')).toEqual([]);
    const { items } = (await admin('GET', `audit-log?organisationId=${made.json.id}`)).json;
    expect(items).toEqual([
      expect.objectContaining({ action: 'organisation.created', reason: 'asked by mail' }),
    ]);
  });

  it('show operators who is in them and what they have', async () => {
    const own = await seedOrganisation(fixture.db);
    const path = `organisations/${own.organisation.id}`;
    const member = await own.addPerson('member');
    const { items } = (await admin('GET', `${path}/members`)).json;
    expect(items.map(({ userId }: { userId: string }) => userId)).toEqual([own.owner.userId, member.userId]);
    await admin('POST', `${path}/grants`, { amountNanoUsd: '1500000001', reason: 'welcome' });
    expect((await admin('GET', `${path}/balance`)).json).toMatchObject({
      balanceNanoUsd: '1500000001',
      availableNanoUsd: '1500000001',
      frozen: false,
    });
  });

  it('suspend an organisation: all its keys are refused at once, and work again when it is resumed', async () => {
    const own = await seedOrganisation(fixture.db);
    const path = `organisations/${own.organisation.id}`;
    expect((await get('/v2/me', own.owner.key)).status).toBe(200);
    const suspend = () => admin('POST', `${path}/suspend`, { reason: 'unpaid bills' });
    const [first, second] = [await suspend(), await suspend()];
    expect(first.json).toMatchObject({ status: 'suspended', suspendedReason: 'unpaid bills' });
    expect(second.text).toBe(first.text);
    expect((await get('/v2/me', own.owner.key)).json).toMatchObject({
      code: 'FORBIDDEN',
      reason: 'ORGANISATION_SUSPENDED',
    });
    await admin('POST', `${path}/resume`, { reason: 'bills paid' });
    expect((await get('/v2/me', own.owner.key)).status).toBe(200);
    const { json } = await get('/v2/audit-log?action=organisation.suspended', own.owner.key);
    expect(json.items).toMatchObject([{ actor: { kind: 'operator' }, reason: 'unpaid bills', ip: null }]);
  });

  it('do not lock themselves out', async () => {
    const response = await admin('POST', `organisations/${operator.organisation.id}/suspend`, {
      reason: 'a mistake',
    });
    expect(response.status).toBe(400);
    expect((await get('/v2/me', operator.owner.key)).status).toBe(200);
  });
});

describe('documents and health', () => {
  it('describe this installation with a key, and openly when the operator says so', async () => {
    const keyed = await get('/v2/openapi.json', theirs.owner.key);
    expect(keyed.json).toMatchObject({ openapi: expect.stringMatching(/^3\.1/), info: { version: '2.0.0' } });
    expect(keyed.json.servers).toMatchObject([{ url: 'https://api.example.com' }]);
    const open = await fixture.call({ method: 'GET', path: '/openapi/v2.json' });
    expect(open.headers['etag']).toBe(keyed.headers['etag']);
    const etag = String(open.headers['etag']);
    const again = await fixture.call({
      method: 'GET',
      path: '/openapi/v2.json',
      headers: { 'if-none-match': etag },
    });
    expect(again.status).toBe(304);
    expect(again.headers).toMatchObject({
      ratelimit: expect.any(String),
      'x-request-id': expect.any(String),
    });
    // The interface lists no 304 for its own path.
    const conditional = {
      method: 'GET',
      path: '/v2/openapi.json',
      headers: { 'if-none-match': etag },
    } as const;
    const whole = await fixture.call({ ...conditional, key: theirs.owner.key });
    expect([whole.status, whole.json.info.version]).toEqual([200, '2.0.0']);
    for (const name of ['v1', 'admin', 'supplier']) {
      expect((await fixture.call({ method: 'GET', path: `/openapi/${name}.json` })).status, name).toBe(200);
    }
  });

  it('explain every error without a key, where docUrl points', async () => {
    const response = await fixture.call({ method: 'GET', path: '/v2/me' });
    const path = String(response.json.docUrl);
    const open = { method: 'GET', url: path.slice(0, path.indexOf('#')) } as const;
    const { fastify } = fixture.api.server;
    const plain = await fastify.inject(open);
    expect(plain.headers['content-type']).toMatch(/^text\/markdown/);
    expect(plain.body).toContain('## MISSING_API_KEY');
    const browser = await fastify.inject({ ...open, headers: { accept: 'text/html,*/*;q=0.8' } });
    expect(browser.headers['content-type']).toMatch(/^text\/html/);
    expect(browser.body).toContain('<h2 id="MISSING_API_KEY">');
  });

  it('are answered without a key by /healthz and /readyz', async () => {
    expect((await fixture.call({ method: 'GET', path: '/healthz' })).json).toEqual({
      live: true,
      state: 'running',
    });
    const readiness = async () => (await fixture.call({ method: 'GET', path: '/readyz' })).json.ready;
    await expect.poll(readiness).toBe(true);
  });
});
