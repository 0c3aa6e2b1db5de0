import { randomUUID } from 'node:crypto';
import { testIds, testLog, uniqueId } from '@millrace/testing';
import { afterAll, expect, test } from 'vitest';
import { cancelEmails, countExternalEmails, insertExternalEmail } from './index.ts';
import { sendDueEmails } from './notices.service.ts';
import { claimEmails } from './notices.store.ts';
import { renderExternalEmail } from './render-email.ts';
import { openNoticesHarness } from './notices-harness.fixture.ts';

const harness = await openNoticesHarness();
afterAll(() => harness.close());

const isolation = 'read committed' as const;
const emailsTo = (email: string) => harness.smtp.emails.filter(({ to }) => to.includes(email));

async function write(organisation = 'Acme') {
  const { orgId } = await harness.organisation('owner');
  const email = `new-${uniqueId()}@example.com`;
  const data = {
    invitationId: testIds.next('inv'),
    organisation,
    role: 'member',
    inviter: 'ada@example.com',
    expiresAt: '2026-12-24T12:00:00.000Z',
    link: 'https://cloud.example.com/console/invitations',
    refuseLink: 'https://cloud.example.com/mail/invitations?proof=1',
  } as const;
  const noticeId = await harness.db.transaction({ name: 'invite', isolation }, (tx) =>
    insertExternalEmail(tx, orgId, { type: 'member.invited', email, data }),
  );
  return { orgId, email, noticeId };
}

const send = () =>
  sendDueEmails({
    db: harness.db,
    clock: harness.clock,
    log: testLog(),
    mailer: harness.mailer,
    consoleUrl: null,
    leaseMs: 60_000,
    limit: 50,
  });

test('an external email is sent once with several workers, and links to the page for the response', async () => {
  const { email, orgId } = await write();
  await Promise.all([send(), send(), send()]);
  await send();
  const [message, ...others] = emailsTo(email);
  expect(others).toEqual([]);
  expect(message?.headers['subject']).toBe('You have an invitation to join an organisation');
  expect(message?.body).toContain('https://cloud.example.com/console/invitations');
  expect(message?.body).toContain('ada@example.com');
  expect(message?.headers).toMatchObject({
    'list-unsubscribe': '<https://cloud.example.com/mail/invitations?proof=1>',
    'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
  });
  expect(await harness.mails(orgId)).toMatchObject([{ user_id: null, state: 'sent' }]);
});

test.each([
  'Account locked: https://evil.example',
  'Reset at evil.example/login',
  'help@evil.example',
  'evil.example',
])('an invitation from an organisation named %s does not contain the name', async (organisation) => {
  const { email } = await write(organisation);
  await send();
  const [message] = emailsTo(email);
  expect(message?.headers['subject']).toBe('You have an invitation to join an organisation');
  expect(message?.body).not.toContain('evil.example');
  expect(message?.body).toContain('shown after you sign in');
});

test('a cancelled email is not sent', async () => {
  const { email, orgId, noticeId } = await write();
  await harness.db.transaction({ name: 'cancel', isolation }, (tx) =>
    cancelEmails(tx, orgId, noticeId, 'It was taken back.'),
  );
  await send();
  expect(emailsTo(email)).toEqual([]);
  expect(await harness.mails(orgId)).toMatchObject([{ state: 'skipped', last_error: 'It was taken back.' }]);
});

test('an email that was cancelled while it was being sent counts against the limit of its address, one cancelled before does not', async () => {
  const counted = (email: string) =>
    harness.db.transaction({ name: 'count', isolation }, (tx) => countExternalEmails(tx, email, new Date(0)));
  const callOff = ({ orgId, noticeId }: Awaited<ReturnType<typeof write>>) =>
    harness.db.transaction({ name: 'cancel', isolation }, (tx) =>
      cancelEmails(tx, orgId, noticeId, 'It was taken back.'),
    );
  const before = await write();
  await callOff(before);
  expect(await counted(before.email)).toBe(0);
  const during = await write();
  const claim = randomUUID();
  await claimEmails(harness.db, { claim, now: harness.clock.now(), leaseMs: 60_000, limit: 50 });
  await callOff(during);
  expect(await counted(during.email)).toBe(1);
  await send();
  expect(emailsTo(during.email)).toEqual([]);
});

test('the name of an organisation is plain text in an email, never markup and never a header', async () => {
  const { email } = await write('Acme\r\nBcc: all@example.com <b>free</b>');
  await send();
  const [message] = emailsTo(email);
  expect(message?.headers['bcc']).toBeUndefined();
  expect(message?.to).toEqual([email]);
  const data = {
    invitationId: 'inv_1',
    organisation: '<b>free',
    role: 'member',
    inviter: 'ada@example.com',
    expiresAt: '2026-12-24T12:00:00.000Z',
    link: null,
  };
  const notice = { id: testIds.next('ntc'), type: 'member.invited', data };
  const rendered = renderExternalEmail(notice, email, harness.mailer.from);
  expect(rendered?.html).toContain('&lt;b&gt;free');
  expect(rendered?.html).not.toContain('<b>free');
});
