import { seedOrganisation } from '@millrace/core/fixture';
import { uniqueId } from '@millrace/testing';
import { describe, expect, it } from 'vitest';
import { openBrowser } from './browser.fixture.ts';
import { startApiFixture, type ApiFixture } from './api.fixture.ts';

// Without email, sign-up and answering an invitation need the secret of the invitation link.

const password = 'correct horse battery';
const makeEmail = () => `guest-${uniqueId()}@example.com`;

async function invite(fixture: ApiFixture, email: string, role = 'owner') {
  const { organisation, owner } = await seedOrganisation(fixture.db);
  const path = `/v2/organisations/${organisation.id}/invitations`;
  const send = (headers: Record<string, string> = {}) =>
    fixture.call({ method: 'POST', path, key: owner.key, body: { email, role }, headers });
  const made = await send();
  expect(made.status).toBe(201);
  return { id: String(made.json.id), link: made.json.link as string | null, again: send };
}

const secretIn = (link: unknown) => new URL(String(link)).hash.slice('#invitation='.length);

async function signUp(fixture: ApiFixture, email: string, invitationSecret?: string) {
  const request = {
    name: 'Ada',
    email,
    password,
    ...(invitationSecret === undefined ? {} : { invitationSecret }),
  };
  const { status, json } = await openBrowser(fixture).post('/auth/sign-up/email', request);
  return status === 200 ? 200 : (json.code as string);
}

async function accept(fixture: ApiFixture, email: string, id: string, secret?: string) {
  const browser = openBrowser(fixture);
  expect((await browser.post('/auth/sign-in/email', { email, password })).status).toBe(200);
  const { status, json } = await browser.post(
    `/v2/me/invitations/${id}/accept`,
    secret === undefined ? undefined : { secret },
  );
  return status === 200 ? 200 : (json.reason as string);
}

describe('installation without email', () => {
  it('refuses a sign-up without an invitation', async () => {
    await using fixture = await startApiFixture();
    const installation = await fixture.call({ method: 'GET', path: '/v2/installation' });
    expect(installation.json).toMatchObject({ signUp: 'closed', mail: false, passkeys: true, oidc: [] });
    expect(installation.json.supplierTerms).toEqual({
      feePercentage: null,
      leastNanoUsdPerGpuHour: '10000000',
      mostNanoUsdPerGpuHour: '1000000000000',
      payoutHoldSeconds: 0,
    });
    expect(await signUp(fixture, makeEmail())).toBe('SIGN_UP_CLOSED');
  });

  it('accepts a sign-up with an invited address only with the secret of the link', async () => {
    await using fixture = await startApiFixture();
    const email = makeEmail();
    const { id, link } = await invite(fixture, email);
    const other = await invite(fixture, makeEmail());
    expect(await signUp(fixture, email)).toBe('SIGN_UP_CLOSED');
    for (const wrong of [id, `${secretIn(link)}x`, secretIn(other.link)])
      expect([wrong, await signUp(fixture, email, wrong)]).toEqual([wrong, 'SIGN_UP_CLOSED']);
    expect(await signUp(fixture, makeEmail(), secretIn(link))).toBe('SIGN_UP_CLOSED');
    expect(await signUp(fixture, email, secretIn(link))).toBe(200);
    expect(await accept(fixture, email, id, secretIn(link))).toBe(200);
  });

  it('does not verify the address by the link, which the inviter knows too', async () => {
    await using fixture = await startApiFixture();
    const email = makeEmail();
    const { link } = await invite(fixture, email);
    expect(await signUp(fixture, email, secretIn(link))).toBe(200);
    const rows = fixture.db.kysely.selectFrom('users').select('email_verified').where('email', '=', email);
    expect(await rows.execute()).toEqual([{ email_verified: false }]);
  });

  it('declines an invitation only with the secret of the link', async () => {
    await using fixture = await startApiFixture();
    const email = makeEmail();
    const { id, link } = await invite(fixture, email);
    expect(await signUp(fixture, email, secretIn(link))).toBe(200);
    const browser = openBrowser(fixture);
    await browser.post('/auth/sign-in/email', { email, password });
    const path = `/v2/me/invitations/${id}/decline`;
    expect((await browser.post(path)).json.reason).toBe('INVITATION_LINK_REQUIRED');
    expect((await browser.post(path, { secret: secretIn(link) })).status).toBe(204);
    expect(await accept(fixture, email, id, secretIn(link))).toBe('INVITATION_NOT_FOUND');
  });

  it('refuses an account with an address verified earlier until it has the secret of the link', async () => {
    await using fixture = await startApiFixture({ signUp: 'open' });
    const email = makeEmail();
    expect(await signUp(fixture, email)).toBe(200);
    await fixture.db.kysely
      .updateTable('users')
      .set({ email_verified: true })
      .where('email', '=', email)
      .execute();
    const { id, link, again } = await invite(fixture, email);
    const other = await invite(fixture, email);
    for (const wrong of [undefined, id, `${secretIn(link)}x`, secretIn(other.link)])
      expect([wrong, await accept(fixture, email, id, wrong)]).toEqual([wrong, 'INVITATION_LINK_REQUIRED']);
    const newer = secretIn((await again()).json.link);
    expect(await accept(fixture, email, id, secretIn(link))).toBe('INVITATION_LINK_REQUIRED');
    expect(await accept(fixture, email, id, newer)).toBe(200);
    // Repeating the request changes nothing, so it needs no secret.
    expect(await accept(fixture, email, id)).toBe(200);
  });

  it('refuses the secret of a replaced link or a cancelled invitation', async () => {
    await using fixture = await startApiFixture();
    const email = makeEmail();
    const { id, link, again } = await invite(fixture, email);
    const { json } = await again();
    expect(json.id).toBe(id);
    expect(await signUp(fixture, email, secretIn(link))).toBe('SIGN_UP_CLOSED');
    const secret = secretIn(json.link);
    await fixture.db.kysely
      .updateTable('invitations')
      .set({ status: 'canceled', answered_at: new Date() })
      .where('email', '=', email)
      .execute();
    expect(await signUp(fixture, email, secret)).toBe('SIGN_UP_CLOSED');
  });

  it('shows the link once: a replay returns null', async () => {
    await using fixture = await startApiFixture();
    const { again } = await invite(fixture, makeEmail());
    const headers = { 'idempotency-key': uniqueId() };
    expect((await again(headers)).json.link).toMatch(/\/sign-up#invitation=inv_/);
    expect((await again(headers)).json.link).toBeNull();
  });

  it('with open sign-up allows creating an organisation, and answering invitations only with the secret', async () => {
    await using fixture = await startApiFixture({ signUp: 'open' });
    const email = makeEmail();
    expect(await signUp(fixture, email)).toBe(200);
    const { id, link } = await invite(fixture, email);
    expect(await accept(fixture, email, id)).toBe('INVITATION_LINK_REQUIRED');
    const other = makeEmail();
    expect(await signUp(fixture, other)).toBe(200);
    expect(await accept(fixture, other, id, secretIn(link))).toBe('INVITATION_NOT_FOUND');
    expect(await accept(fixture, email, id, secretIn(link))).toBe(200);
    const browser = openBrowser(fixture);
    await browser.post('/auth/sign-in/email', { email, password });
    expect((await browser.post('/v2/organisations', { name: 'Own' })).status).toBe(201);
  });
});

describe('installation with email', () => {
  it('shows no link, because the confirmation email verifies the address', async () => {
    await using fixture = await startApiFixture({ withMail: true });
    expect((await invite(fixture, makeEmail())).link).toBeNull();
  });
});
