import { seedOrganisation } from '@millrace/core/fixture';
import { mintKey } from '@millrace/core/identity';
import { fromUuid, parseId, toUuid } from '@millrace/platform/ids';
import { startStopwatch, testIds, uniqueId, scaledLimitMs } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { startApiFixture } from './api.fixture.ts';
import type { SignedIn } from './users.fixture.ts';

// Signed-in members and the member keys that represent them.

const fixture = await startApiFixture();
const acme = await seedOrganisation(fixture.db);
const owner = await fixture.signInAs(acme.owner.userId);
afterAll(() => fixture[Symbol.asyncDispose]());

const uuidOf = (userId: string) => {
  const id = parseId('usr', userId);
  if (id === null) throw new TypeError(userId);
  return toUuid(id);
};
const memberKeysOf = (userId: string) =>
  fixture.db.kysely
    .selectFrom('api_keys')
    .selectAll()
    .where('kind', '=', 'seat')
    .where('user_id', '=', uuidOf(userId))
    .orderBy('id')
    .execute();
const get = (
  session: SignedIn,
  path: string,
  organisationId = acme.organisation.id,
  mode?: 'live' | 'test',
) => fixture.call({ method: 'GET', path, headers: session.headers(organisationId, mode) });
const send = (session: SignedIn, method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) =>
  fixture.call({
    method,
    path,
    headers: session.headers(acme.organisation.id),
    ...(body === undefined ? {} : { body }),
  });

describe('member key', () => {
  it('is created once for concurrent first requests', async () => {
    const { userId } = await acme.addPerson('member');
    const sessions = await Promise.all(Array.from({ length: 8 }, () => fixture.signInAs(userId)));
    const responses = await Promise.all(
      sessions.flatMap((session) => [get(session, '/v2/me'), get(session, '/v2/me')]),
    );
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await memberKeysOf(userId)).toHaveLength(1);
    await Promise.all(sessions.map((session) => get(session, '/v2/me', acme.organisation.id, 'test')));
    expect((await memberKeysOf(userId)).map(({ mode }) => mode).toSorted()).toEqual(['live', 'test']);
  });

  it('is unique per member and mode by a database constraint too', async () => {
    await get(owner, '/v2/me');
    const [memberKey] = await memberKeysOf(acme.owner.userId);
    if (memberKey === undefined) throw new Error('no member key');
    const { publicId } = mintKey('live');
    const duplicate = {
      ...memberKey,
      id: memberKey.id.replace(/.{4}$/, 'ffff'),
      public_id: publicId,
      limits: '{}',
    };
    await expect(fixture.db.kysely.insertInto('api_keys').values(duplicate).execute()).rejects.toThrow(
      'api_keys_one_seat',
    );
    const limited = { ...duplicate, revoked_at: new Date(), revoked_reason: 'revoked' as const };
    await expect(fixture.db.kysely.insertInto('api_keys').values(limited).execute()).rejects.toThrow(
      'api_keys_seats_are_plain',
    );
  });

  it('cannot be listed, read, rotated, revoked, counted, budgeted or sent to gateways as an API key', async () => {
    await get(owner, '/v2/me');
    const [memberKey] = await memberKeysOf(acme.owner.userId);
    if (memberKey === undefined) throw new Error('no member key');
    const keyId = fromUuid('key', memberKey.id);
    const listed = await get(owner, '/v2/api-keys');
    expect(listed.text).not.toContain(keyId);
    for (const [method, path] of [
      ['DELETE', `/v2/api-keys/${keyId}`],
      ['POST', `/v2/api-keys/${keyId}/rotate`],
    ] as const) {
      const response = await send(owner, method, path, method === 'POST' ? {} : undefined);
      expect([response.status, response.json.reason]).toEqual([404, 'API_KEY_NOT_FOUND']);
    }
    expect((await get(owner, `/v2/api-keys/${keyId}`)).status).toBe(404);
    const budget = { name: 'b', keyIds: [keyId], period: 'day', limitNanoUsd: '1000000000' };
    const refused = await send(owner, 'POST', '/v2/budgets', budget);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    const changes = await fixture.db.kysely
      .selectFrom('book_changes')
      .select('id')
      .where('ref', '=', memberKey.public_id)
      .execute();
    expect(changes).toEqual([]);
  });

  it('cannot authenticate with any secret', async () => {
    await get(owner, '/v2/me');
    const [memberKey] = await memberKeysOf(acme.owner.userId);
    // A secret with a matching hash, in case member keys were accepted as API keys.
    const minted = mintKey('live');
    await fixture.database.query('update api_keys set public_id = $1, secret_sha256 = $2 where id = $3', [
      minted.publicId,
      minted.secretSha256,
      memberKey?.id,
    ]);
    const response = await fixture.call({ method: 'GET', path: '/v2/me', key: minted.text });
    expect([response.status, response.json.reason]).toEqual([401, 'INVALID_API_KEY']);
  });

  it('makes the user the author of changes and the role their limit', async () => {
    const { userId } = await acme.addPerson('member');
    const session = await fixture.signInAs(userId);
    const made = await send(session, 'POST', '/v2/api-keys', { name: 'mine', scopes: ['rentals:read'] });
    expect([made.status, made.json.createdBy]).toEqual([201, userId]);
    const more = await send(session, 'POST', '/v2/api-keys', { name: 'more', scopes: ['members:write'] });
    expect([more.status, more.json.reason]).toEqual([403, 'SCOPE_ESCALATION']);
    const log = await get(owner, `/v2/audit-log?resourceId=${String(made.json.id)}`);
    expect(log.json.items).toMatchObject([{ action: 'key.created', actor: { kind: 'user', id: userId } }]);
  });

  it('in test mode cannot change members or money', async () => {
    const headers = owner.headers(acme.organisation.id, 'test');
    const body = { email: `guest-${uniqueId()}@example.com`, role: 'member' };
    const path = `/v2/organisations/${acme.organisation.id}/invitations`;
    const response = await fixture.call({ method: 'POST', path, headers, body });
    expect([response.status, response.json.reason]).toEqual([403, 'INSUFFICIENT_SCOPE']);
    const me = await fixture.call({ method: 'GET', path: '/v2/me', headers });
    expect(me.json.mode).toBe('test');
  });
});

describe('within a second', () => {
  const within = async (responseOf: () => Promise<unknown>, response: unknown) => {
    const stopwatch = startStopwatch();
    await expect.poll(responseOf, { interval: 20 }).toBe(response);
    expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(1_000));
  };

  it('a removed member is refused, and gets a new member key after returning', async () => {
    const { userId } = await acme.addPerson('admin');
    const session = await fixture.signInAs(userId);
    expect((await get(session, '/v2/me')).status).toBe(200);
    const path = `/v2/organisations/${acme.organisation.id}/members/${userId}`;
    expect((await send(owner, 'DELETE', path)).status).toBe(204);
    await within(async () => (await get(session, '/v2/me')).json.reason, 'NOT_A_MEMBER');
    expect(await memberKeysOf(userId)).toMatchObject([{ revoked_reason: 'member_removed' }]);
    await fixture.db.kysely
      .insertInto('members')
      .values({
        id: toUuid(testIds.next('mem')),
        org_id: toUuid(acme.organisation.id),
        user_id: uuidOf(userId),
        role: 'viewer',
      })
      .execute();
    await within(async () => (await get(session, '/v2/me')).status, 200);
    const keys = await memberKeysOf(userId);
    expect(keys.map(({ revoked_at: at }) => at === null)).toEqual([false, true]);
  });

  it('a lost role is no longer effective, also without a notification', async () => {
    const { userId } = await acme.addPerson('admin');
    const session = await fixture.signInAs(userId);
    const path = `/v2/organisations/${acme.organisation.id}/invitations`;
    expect((await get(session, path)).status).toBe(200);
    await fixture.db.kysely
      .updateTable('members')
      .set({ role: 'billing' })
      .where('user_id', '=', uuidOf(userId))
      .execute();
    const keys = () => get(session, '/v2/ssh-public-keys').then(({ json }) => json.reason as unknown);
    await within(keys, 'INSUFFICIENT_SCOPE');
  });

  it('a suspended organisation refuses its members and reveals it only to them', async () => {
    const org = await seedOrganisation(fixture.db);
    const session = await fixture.signInAs(org.owner.userId);
    const me = (who: SignedIn) => get(who, '/v2/me', org.organisation.id);
    expect((await me(session)).status).toBe(200);
    await fixture.db.kysely
      .updateTable('organisations')
      .set({ status: 'suspended', suspended_at: new Date() })
      .where('slug', '=', org.organisation.slug)
      .execute();
    await within(async () => (await me(session)).json.reason, 'ORGANISATION_SUSPENDED');
    expect((await me(owner)).json.reason).toBe('NOT_A_MEMBER');
  });
});

it('removing a member during the first request leaves no member key', async () => {
  for (let round = 0; round < 8; round += 1) {
    const { userId } = await acme.addPerson('member');
    const sessions = await Promise.all([fixture.signInAs(userId), fixture.signInAs(userId)]);
    const path = `/v2/organisations/${acme.organisation.id}/members/${userId}`;
    await Promise.all([
      ...sessions.map((session) => get(session, '/v2/me')),
      send(owner, 'DELETE', path),
      ...sessions.map((session) => get(session, '/v2/me', acme.organisation.id, 'test')),
    ]);
    expect((await memberKeysOf(userId)).filter(({ revoked_at: at }) => at === null)).toEqual([]);
  }
});
