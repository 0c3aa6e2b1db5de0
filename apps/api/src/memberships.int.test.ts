import { seedOrganisation } from '@millrace/core/fixture';
import { testIds, uniqueId } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { startApiFixture } from './api.fixture.ts';
import type { SignedIn } from './users.fixture.ts';

const fixture = await startApiFixture({ withMail: true });
const own = await seedOrganisation(fixture.db);
afterAll(() => fixture[Symbol.asyncDispose]());

/** A signed-in user who is not a member of `ours`. */
async function somebody(): Promise<{ session: SignedIn; email: string }> {
  const { owner, organisation } = await seedOrganisation(fixture.db);
  const session = await fixture.signInAs(owner.userId);
  await query(
    `update users set email_verified = true where id = (select user_id from members m
    join organisations o on o.id = m.org_id where o.slug = $1 limit 1)`,
    [organisation.slug],
  );
  const me = await fixture.call({ method: 'GET', path: '/v2/me', headers: session.headers(organisation.id) });
  return { session, email: me.json.user.email as string };
}

async function query(text: string, values: unknown[]) {
  return (await fixture.database.query(text, values)).rows;
}

const as = (session: SignedIn, method: 'GET' | 'POST', path: string, body?: object) =>
  fixture.call({ method, path, headers: session.headers(), ...(body === undefined ? {} : { body }) });
const invitations = () => `/v2/organisations/${own.organisation.id}/invitations`;
const invite = (email: string, headers: Record<string, string> = {}) =>
  fixture.call({
    method: 'POST',
    path: invitations(),
    key: own.owner.key,
    body: { email, role: 'member' },
    headers,
  });

describe('users and invitations', () => {
  it('users create an organisation, see it in their list and can use it at once', async () => {
    const { session } = await somebody();
    const made = await as(session, 'POST', '/v2/organisations', { name: 'A new lab' });
    expect([made.status, made.json.role]).toEqual([201, 'owner']);
    const { items } = (await as(session, 'GET', '/v2/me/organisations')).json;
    expect(items).toHaveLength(2);
    const { id } = made.json.organisation;
    const acting = await fixture.call({ method: 'GET', path: '/v2/me', headers: session.headers(id) });
    expect([acting.status, acting.json.organisation.name]).toEqual([200, 'A new lab']);
    const first = (await as(session, 'GET', '/v2/me/organisations?limit=1')).json;
    const second = await as(session, 'GET', `/v2/me/organisations?limit=1&cursor=${first.nextCursor}`);
    expect([...first.items, ...second.json.items]).toEqual(items);
  });

  it('users are invited by email in any letter case and accept while signed in', async () => {
    const { session, email } = await somebody();
    const made = await invite(email.toUpperCase());
    expect([made.status, made.json.email, made.json.status]).toEqual([201, email, 'pending']);
    const mine = (await as(session, 'GET', '/v2/me/invitations')).json.items;
    expect(mine).toEqual([
      {
        id: made.json.id,
        organisation: { id: own.organisation.id, name: own.organisation.name },
        role: 'member',
        invitedBy: made.json.invitedBy,
        createdAt: made.json.createdAt,
        expiresAt: made.json.expiresAt,
      },
    ]);
    const notices = await query('select data from notices where type = $1 and data->>$2 = $3', [
      'member.invited',
      'invitationId',
      made.json.id,
    ]);
    expect(notices[0].data.link).toBe('https://console.example.com/invitations');
    const accept = () => as(session, 'POST', `/v2/me/invitations/${made.json.id}/accept`);
    const responses = await Promise.all([accept(), accept()]);
    expect(responses.map(({ status, json }) => [status, json.role])).toEqual([
      [200, 'member'],
      [200, 'member'],
    ]);
    const acting = await fixture.call({
      method: 'GET',
      path: '/v2/me',
      headers: session.headers(own.organisation.id),
    });
    expect(acting.json.role).toBe('member');
    expect((await as(session, 'GET', '/v2/me/invitations')).json.items).toEqual([]);
  });

  it('users cannot answer invitations of others, which look exactly like missing ones', async () => {
    const [guest, outsider] = [await somebody(), await somebody()];
    const { json } = await invite(guest.email);
    for (const verb of ['accept', 'decline']) {
      const path = (id: string) => `/v2/me/invitations/${id}/${verb}`;
      const foreign = await as(outsider.session, 'POST', path(json.id));
      const absent = await as(outsider.session, 'POST', path(testIds.next('inv')));
      const less = (text: string) => text.replace(/req_[0-9A-Z]{26}/g, '');
      expect([foreign.status, less(foreign.text)]).toEqual([404, less(absent.text)]);
      expect(foreign.json.reason).toBe('INVITATION_NOT_FOUND');
    }
    expect((await as(guest.session, 'POST', `/v2/me/invitations/${json.id}/decline`)).status).toBe(204);
  });
});

describe('organisation invitations', () => {
  it('are listed, cancelled and idempotent', async () => {
    const email = `guest-${uniqueId()}@example.com`;
    const headers = { 'idempotency-key': uniqueId() };
    const [first, second] = [await invite(email, headers), await invite(email, headers)];
    expect(second.headers['idempotent-replayed']).toBe('true');
    expect(second.json).toEqual({ ...first.json, link: null });
    const listed = await fixture.call({ method: 'GET', path: invitations(), key: own.owner.key });
    const { link: _shownOnce, ...invitation } = first.json;
    expect(listed.json.items).toContainEqual(invitation);
    const path = `${invitations()}/${first.json.id}`;
    const cancel = () => fixture.call({ method: 'DELETE', path, key: own.owner.key });
    expect((await cancel()).status).toBe(204);
    expect((await cancel()).json.reason).toBe('INVITATION_NOT_FOUND');
    const sent = await query('select state from notice_mails where email = $1', [email]);
    expect(sent).toEqual([{ state: 'skipped' }]);
  });

  it('accept one plain email address and refuse lists and header lines', async () => {
    for (const email of [
      'a@b.example,c@d.example',
      'a@b.example\r\nBcc: x@y.example',
      '<a@b.example>',
      'nobody',
    ]) {
      const response = await invite(email);
      expect([email, response.json.reason]).toEqual([email, 'VALIDATION_FAILED']);
    }
  });
});

describe('invitation emails', () => {
  const emailsTo = (email: string) =>
    query('select data, state from notice_mails mail join notices on id = notice_id where email = $1', [
      email,
    ]);
  const open = async (method: 'GET' | 'POST', link: string) => {
    const { pathname, search } = new URL(link);
    const oneClick = {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'List-Unsubscribe=One-Click',
    };
    const url = `${pathname}${search}`;
    const response = await fixture.api.server.fastify.inject({
      method,
      url,
      ...(method === 'POST' && oneClick),
    });
    return { status: response.statusCode, text: response.body };
  };

  it('stop after unsubscribing by their link without an account, and only by that link', async () => {
    const email = `stranger-${uniqueId()}@example.com`;
    expect((await invite(email)).status).toBe(201);
    const [first] = await emailsTo(email);
    const link = first.data.refuseLink as string;
    expect(new URL(link).origin).toBe('https://cloud.example.com');
    const shown = await open('GET', link);
    expect([shown.status, shown.text.includes('Unsubscribe from invitation emails')]).toEqual([200, true]);
    expect(await emailsTo(email)).toMatchObject([{ state: 'waiting' }]);
    const foreign = new URL(link);
    foreign.searchParams.set('mailbox', `other-${email}`);
    expect((await open('POST', foreign.href)).status).toBe(404);
    for (let time = 0; time < 2; time += 1) expect((await open('POST', link)).status).toBe(200);
    expect(await emailsTo(email)).toMatchObject([{ state: 'skipped' }]);
    const other = await seedOrganisation(fixture.db);
    const path = `/v2/organisations/${other.organisation.id}/invitations`;
    const body = { email, role: 'member' };
    const again = await fixture.call({ method: 'POST', path, key: other.owner.key, body });
    expect(again.status).toBe(201);
    expect(await emailsTo(email)).toHaveLength(1);
    expect((await open('POST', `${link}&allow=1`)).text).toContain('Unsubscribe from invitation emails');
    expect((await invite(email)).status).toBe(201);
    expect(await emailsTo(email)).toHaveLength(2);
  });
});
