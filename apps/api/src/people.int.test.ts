import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@millrace/testing';
import { seedOrganisation, startApiFixture, type ApiFixture, type CallAnswer } from './fixture.ts';
import { fixturePublicUrl } from './people.fixture.ts';

let fixture: ApiFixture;
beforeAll(async () => {
  fixture = await startApiFixture({ withMail: true });
});
afterAll(() => fixture[Symbol.asyncDispose]());

const ownPage = { origin: fixturePublicUrl, 'sec-fetch-site': 'same-origin' };

const post = (path: string, body: unknown, headers: Record<string, string> = ownPage) =>
  fixture.call({ method: 'POST', path: `/auth${path}`, body, headers });

function cookiesOf(answer: CallAnswer): string {
  const set = answer.headers['set-cookie'];
  const lines = Array.isArray(set) ? set : set === undefined ? [] : [String(set)];
  return lines.map((line) => line.split(';', 1)[0]).join('; ');
}

async function letterTo(email: string, subject: RegExp): Promise<string> {
  let found = '';
  await eventually({ what: `a letter to ${email}` }, async () => {
    const letter = fixture.smtp?.letters.findLast(
      ({ to, headers }) => to.includes(email) && subject.test(headers['subject'] ?? ''),
    );
    found = letter?.body ?? '';
    return letter !== undefined;
  });
  return found;
}

const linkIn = (body: string) => /https:\/\/cloud\.example\.com\/\S+?(?=["\s<])/.exec(body)?.[0] ?? '';
const pathOf = (link: string) => link.replaceAll('&amp;', '&').slice(fixturePublicUrl.length);

let count = 0;
const password = 'correct horse battery';

async function signUp(): Promise<string> {
  count += 1;
  const email = `person-${count}-${Date.now()}@example.com`;
  expect((await post('/sign-up/email', { name: 'Ada', email, password })).status).toBe(200);
  return email;
}

async function signUpAndVerify(): Promise<string> {
  const email = await signUp();
  const link = linkIn(await letterTo(email, /Confirm/));
  const verified = await fixture.call({ method: 'GET', path: pathOf(link) });
  expect(verified.status).toBe(302);
  expect(verified.headers['location']).toBe('/console/verified');
  return email;
}

describe('a person', () => {
  it('signs up, reads the letter, signs in, and is who they are', async () => {
    const email = await signUp();
    const early = await post('/sign-in/email', { email, password });
    expect([early.status, early.json.code]).toEqual([403, 'EMAIL_NOT_VERIFIED']);
    const link = linkIn(await letterTo(email, /Confirm/));
    expect((await fixture.call({ method: 'GET', path: pathOf(link) })).status).toBe(302);
    const signedIn = await post('/sign-in/email', { email, password });
    expect(signedIn.status).toBe(200);
    const cookie = cookiesOf(signedIn);
    const sessions = await fixture.call({
      method: 'GET',
      path: '/v2/me/sessions',
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
    });
    expect(sessions.status).toBe(200);
    expect(sessions.json.items).toMatchObject([{ current: true }]);
    expect(sessions.text).not.toContain('token');
  });

  it('signs in with a seat', async () => {
    await signUpAndVerify();
    const { organisation, owner } = await seedOrganisation(fixture.db);
    const session = await fixture.signInAs(owner.userId);
    const me = await fixture.call({
      method: 'GET',
      path: '/v2/me',
      headers: session.headers(organisation.id),
    });
    expect(me.json).toMatchObject({ role: 'owner', key: null, mode: 'live' });
  });
});
