import type { OrgId } from '@millrace/platform/ids';
import { afterAll, describe, expect, it } from 'vitest';
import { credit, usd } from '../../money.fixture.ts';
import { seedOrganisation, startRoutes, type SeededOrganisation } from '../../routes.fixture.ts';

const fixture = await startRoutes();
const operator = await seedOrganisation(fixture.db, { platformRole: 'operator' });
const theirs = await seedOrganisation(fixture.db);
afterAll(() => fixture[Symbol.asyncDispose]());

const get = (path: string, key: string) => fixture.call({ method: 'GET', path, key });
const withoutRequestId = (text: string) => text.replace(/"requestId":"[^"]*"/, '');
const memberPath = (organisation: SeededOrganisation, userId: string) =>
  `/v2/organisations/${organisation.organisation.id}/members/${userId}`;
const setRole = (organisation: SeededOrganisation, userId: string, role: string, key: string) =>
  fixture.call({ method: 'PATCH', path: memberPath(organisation, userId), key, body: { role } });
const remove = (organisation: SeededOrganisation, userId: string, key: string) =>
  fixture.call({ method: 'DELETE', path: memberPath(organisation, userId), key });

describe('members', () => {
  it('are promoted and demoted by owners; admins can neither change owners nor grant ownership', async () => {
    const own = await seedOrganisation(fixture.db);
    const [admin, member] = [await own.addPerson('admin'), await own.addPerson('member')];
    expect((await setRole(own, member.userId, 'admin', admin.key)).json).toMatchObject({ role: 'admin' });
    expect((await setRole(own, member.userId, 'owner', admin.key)).json.reason).toBe('SCOPE_ESCALATION');
    expect((await setRole(own, own.owner.userId, 'viewer', admin.key)).json.reason).toBe('SCOPE_ESCALATION');
    expect((await remove(own, own.owner.userId, admin.key)).json.reason).toBe('SCOPE_ESCALATION');
    expect((await setRole(own, member.userId, 'owner', own.owner.key)).status).toBe(200);
  });

  it('lose their keys with their membership, with one event each', async () => {
    const own = await seedOrganisation(fixture.db);
    const member = await own.addPerson('member');
    expect((await get('/v2/me', member.key)).status).toBe(200);
    expect((await remove(own, member.userId, own.owner.key)).status).toBe(204);
    expect((await get('/v2/me', member.key)).json.reason).toBe('API_KEY_REVOKED');
    expect((await remove(own, member.userId, own.owner.key)).json.reason).toBe('MEMBER_NOT_FOUND');
    const { rows } = await fixture.database.query(
      `select payload->>'cause' as cause from outbox where resource_id = $1 and type = 'key.revoked'`,
      [member.keyId],
    );
    expect(rows).toEqual([{ cause: 'member_removed' }]);
  });

  it('can leave if their role allows it, but not as the last owner', async () => {
    const own = await seedOrganisation(fixture.db);
    const admin = await own.addPerson('admin');
    expect((await remove(own, admin.userId, admin.key)).status).toBe(204);
    expect((await get('/v2/me', admin.key)).status).toBe(401);
    expect((await remove(own, own.owner.userId, own.owner.key)).json.reason).toBe('LAST_OWNER');
    expect((await setRole(own, own.owner.userId, 'viewer', own.owner.key)).json.reason).toBe('LAST_OWNER');
    const member = await own.addPerson('member');
    expect((await remove(own, member.userId, member.key)).json.reason).toBe('INSUFFICIENT_SCOPE');
  });

  it('keep at least one owner when two owners demote each other concurrently', async () => {
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
      const { rows } = await fixture.database.query(
        `select count(*)::int as owners from members m join organisations o on o.id = m.org_id
         where o.slug = $1 and m.role = 'owner'`,
        [own.organisation.slug],
      );
      expect(rows[0].owners).toBeGreaterThanOrEqual(1);
    }
  });

  it('get byte-identical responses for absent and foreign ids', async () => {
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
  it('is renamed by its owner, and the audit log has old and new name, actor and address', async () => {
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

  it('can read its audit log of a period', async () => {
    const own = await seedOrganisation(fixture.db);
    const path = `/v2/organisations/${own.organisation.id}`;
    await fixture.call({ method: 'PATCH', path, key: own.owner.key, body: { name: 'Renamed' } });
    const { items } = (await get('/v2/audit-log?action=organisation.updated', own.owner.key)).json;
    const at = items[0].occurredAt as string;
    const countIn = async (period: string): Promise<number> =>
      (await get(`/v2/audit-log?action=organisation.updated&${period}`, own.owner.key)).json.items.length;
    const later = new Date(Date.parse(at) + 1).toISOString();
    expect(await countIn(`from=${at}&until=${later}`)).toBe(1);
    expect(await countIn(`until=${at}`)).toBe(0);
    expect(await countIn(`from=${later}`)).toBe(0);
  });

  it('cannot have its audit log rewritten, not even by the application', async () => {
    for (const change of [
      `update audit_log set action = 'a.b'`,
      'delete from audit_log',
      'truncate audit_log',
    ]) {
      await expect(fixture.database.query(change), change).rejects.toThrow('append-only');
    }
  });
});

describe('operators', () => {
  const admin = (method: 'GET' | 'POST', path: string, body?: object, key = operator.owner.key) =>
    fixture.call({ method, path: `/v2/admin/${path}`, key, ...(body === undefined ? {} : { body }) });

  it('create organisations and add users to them; others cannot', async () => {
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

  it('read the live balance of each organisation in the list', async () => {
    const owner = { email: 'rich@example.com' };
    const made = await admin('POST', 'organisations', { name: 'Balance Ltd', owner });
    expect(made.json.balanceNanoUsd).toBe('0');
    const { id: orgId } = made.json as { id: OrgId };
    await credit(fixture, orgId, { amount: usd(12.5) });
    await credit(fixture, orgId, { amount: usd(100), mode: 'test' });
    const { items } = (await admin('GET', 'organisations?search=balance-ltd')).json;
    expect(items).toMatchObject([{ id: orgId, balanceNanoUsd: '12500000000' }]);
    expect((await admin('GET', `organisations/${orgId}`)).json.balanceNanoUsd).toBe('12500000000');
  });

  it('find organisations by part of their name or slug, without wildcards', async () => {
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

  it('see the members of an organisation', async () => {
    const own = await seedOrganisation(fixture.db);
    const path = `organisations/${own.organisation.id}`;
    const member = await own.addPerson('member');
    const { items } = (await admin('GET', `${path}/members`)).json;
    expect(items.map(({ userId }: { userId: string }) => userId)).toEqual([own.owner.userId, member.userId]);
  });

  it('suspend an organisation: all its keys are rejected at once, and work again when it is resumed', async () => {
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

  it('cannot lock themselves out', async () => {
    const response = await admin('POST', `organisations/${operator.organisation.id}/suspend`, {
      reason: 'a mistake',
    });
    expect(response.status).toBe(400);
    expect((await get('/v2/me', operator.owner.key)).status).toBe(200);
  });
});
