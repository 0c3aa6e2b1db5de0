import { afterAll, describe, expect, test } from 'vitest';
import { seedOrganisation, startRoutes } from '../routes.fixture.ts';
import { serveNotices } from './index.ts';

const path = '/v2/me/notice-preferences';

const fixture = await startRoutes(serveNotices);
const acme = await seedOrganisation(fixture.db);

afterAll(() => fixture[Symbol.asyncDispose]());

const get = async (key: string) => (await fixture.call({ method: 'GET', path, key })).json;
const patch = (key: string, body: unknown) => fixture.call({ method: 'PATCH', path, key, body });

describe('email preferences', () => {
  test('follow the role until the user chooses, and again after the choice is removed', async () => {
    const { key } = await acme.addPerson('billing');
    expect(await get(key)).toMatchObject({
      email: expect.stringMatching(/^billing-.*@example\.com$/),
      preferences: {
        balance: { enabled: true, chosen: null, available: true },
        invoices: { enabled: true, chosen: null, available: true },
        keys: { enabled: false, chosen: null, available: false },
      },
    });
    const chosen = await patch(key, { preferences: { balance: false, keys: true } });
    expect(chosen).toMatchObject({
      status: 200,
      json: {
        preferences: {
          balance: { enabled: false, chosen: false, available: true },
          invoices: { enabled: true, chosen: null },
          keys: { enabled: false, chosen: true, available: false },
        },
      },
    });
    expect(await get(key)).toEqual(chosen.json);
    const back = await patch(key, { preferences: { balance: null } });
    expect(back.json.preferences).toMatchObject({
      balance: { enabled: true, chosen: null },
      keys: { chosen: true },
    });
  });

  test('of a user do not change those of other users, other organisations or test mode', async () => {
    const mine = await acme.addPerson('admin');
    const other = await acme.addPerson('admin');
    const test = await acme.ownerKey('test');
    const before = [await get(other.key), await get(test.key)];
    await patch(mine.key, { preferences: { keys: false } });
    await patch(acme.owner.key, { preferences: { keys: false } });
    expect([await get(other.key), await get(test.key)]).toEqual(before);
    expect(before[1].preferences.keys).toEqual({ enabled: false, chosen: null, available: true });
    expect((await patch(test.key, { preferences: { keys: true } })).json.preferences.keys.enabled).toBe(true);
    expect((await get(acme.owner.key)).preferences.keys.enabled).toBe(false);
  });

  test('cannot be changed by a key without notices:write', async () => {
    const made = await fixture.call({
      method: 'POST',
      path: '/v2/api-keys',
      key: acme.owner.key,
      body: { name: 'narrow', scopes: ['inference:write', 'events:read'] },
    });
    expect(await patch(made.json.key, { preferences: { keys: false } })).toMatchObject({ status: 403 });
    expect(await get(made.json.key)).toHaveProperty('email');
  });

  test('accept only existing categories and booleans, and the audit log has the actor', async () => {
    const { key, userId } = await acme.addPerson('admin');
    expect(await patch(key, { preferences: { keys: 'no' } })).toMatchObject({ status: 400 });
    expect(await patch(key, {})).toMatchObject({ status: 400 });
    const ignored = await patch(key, { preferences: { weather: true } });
    expect(ignored).toMatchObject({
      status: 200,
      headers: { 'x-ignored-fields': expect.stringContaining('weather') },
    });
    await patch(key, { preferences: { keys: false } });
    const log = await fixture.call({
      method: 'GET',
      path: '/v2/audit-log?action=notice_preferences.changed&limit=1',
      key: acme.owner.key,
    });
    expect(log.json.items).toMatchObject([
      { resource: { kind: 'user', id: userId }, actor: { kind: 'key' } },
    ]);
  });
});
