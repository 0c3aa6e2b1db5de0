import { eventTypeNames } from '@millrace/contract';
import { systemClock } from '@millrace/platform/clock';
import { fromUuid, toUuid } from '@millrace/platform/ids';
import type { Email, Mailer, SendOutcome } from '@millrace/platform/mail';
import { createLogger } from '@millrace/platform/log';
import { eventually, testIds, testLog } from '@millrace/testing';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { startNotices, notifyMembers } from './index.ts';
import { categoryOf } from './notices.ts';
import { assignDueRecipients, EMAILS_PER_HOUR, sendDueEmails } from './notices.service.ts';
import { claimEmails, deleteOldNotices, recordEmailOutcome } from './notices.store.ts';
import { saveChoice } from './preferences.store.ts';
import { keyCreated, money, openNoticesHarness } from './notices-harness.fixture.ts';

const isolation = 'read committed' as const;
const HOUR_MS = 3_600_000;

const harness = await openNoticesHarness();

beforeEach(async () => {
  // Remove emails that an earlier test left for a retry.
  harness.smtp.accept();
  await harness.rows('truncate notices cascade');
});

afterAll(() => harness.close());

const low = { type: 'balance.low', data: money } as const;
const emailsTo = (email: string) => harness.smtp.emails.filter(({ to }) => to.includes(email));

describe('notices of events', () => {
  test('are created when events are numbered, exactly for the types with emails, for any data', async () => {
    const { orgId } = await harness.organisation('owner');
    const odd = { cancelled: 'true', text: '<"\\u0000", null>', deep: [[[]]], number: 1e300 };
    await harness.events(orgId, [
      ...eventTypeNames.map((type) => ({ type, data: odd })),
      { type: 'maintenance.ended', data: { cancelled: true } },
    ]);
    const found = await harness.rows<{ type: string }>('select type from notices');
    const notified = Object.keys(categoryOf).filter((type) => type !== 'webhook.disabled');
    expect(found.map(({ type }) => type).toSorted()).toEqual(notified.toSorted());
    await harness.deliver();
    const states = (await harness.mails(orgId)).map(({ state }) => state);
    // The data does not match any type: no email is sent, and no retry is scheduled.
    expect(new Set(states)).toEqual(new Set(['given_up']));
  });

  test('are sent once to each member whose role gets them, with several workers', async () => {
    const { orgId, people } = await harness.organisation('owner', 'admin', 'member', 'billing', 'viewer');
    await harness.events(orgId, [low, { type: 'balance.floor', data: money }]);
    await Promise.all([harness.deliver(), harness.deliver(), harness.deliver()]);
    const counts = people.map(({ email }) => emailsTo(email).length);
    expect(counts).toEqual([2, 2, 0, 2, 0]);
    const [owner] = people;
    const subjects = emailsTo(owner?.email ?? '').map(({ headers }) => headers['subject'] ?? '');
    expect(subjects.toSorted()).toEqual([
      '[Acme] Your balance ends in 60 minutes',
      '[Acme] Your balance has ended: running resources are being stopped',
    ]);
    expect(emailsTo(owner?.email ?? '')[0]?.body).toContain('25.34 USD');
    const before = harness.smtp.emails.length;
    await harness.clock.advance(HOUR_MS);
    expect(await harness.deliver()).toEqual({ claimed: 0, unavailable: null });
    expect(harness.smtp.emails).toHaveLength(before);
  });

  test('reach a member with the right role who joined after 500 others', async () => {
    const { orgId, people } = await harness.organisation('owner');
    await harness.rows(
      `with made as (
         insert into users (id, name, email)
         select gen_random_uuid(), 'Many', lower('many-' || n || '-${orgId}@example.com') from generate_series(1, 500) as n
         returning id)
       insert into members (id, org_id, user_id, role)
       select ('00000000-0000-7000-8000-' || right(id::text, 12))::uuid, '${toUuid(orgId)}', id, 'member' from made`,
    );
    await harness.events(orgId, [low]);
    await harness.deliver();
    expect(emailsTo(people[0]?.email ?? '')).toHaveLength(1);
  });

  test('reach members who opted in, and not those who opted out', async () => {
    const { orgId, people } = await harness.organisation('owner', 'member');
    const [owner, member] = people;
    if (owner === undefined || member === undefined) throw new Error('The organisation has no such member.');
    await harness.db.transaction({ name: 'choose', isolation }, async (tx) => {
      const choice = { category: 'balance', wanted: false } as const;
      await saveChoice(tx, orgId, { userId: owner.userId, mode: 'live' }, choice);
      await saveChoice(tx, orgId, { userId: member.userId, mode: 'live' }, { ...choice, wanted: true });
      await saveChoice(tx, orgId, { userId: owner.userId, mode: 'test' }, { ...choice, wanted: true });
    });
    await harness.events(orgId, [low]);
    await harness.deliver();
    expect([emailsTo(owner.email).length, emailsTo(member.email).length]).toEqual([0, 1]);
    await harness.events(orgId, [{ ...low, mode: 'test' }]);
    await harness.deliver();
    expect([emailsTo(owner.email).length, emailsTo(member.email).length]).toEqual([1, 1]);
  });

  test('are also sent for changes without an event', async () => {
    const { orgId, people } = await harness.organisation('owner');
    await harness.db.transaction({ name: 'disable', isolation }, (tx) =>
      notifyMembers(tx, orgId, {
        mode: 'live',
        type: 'webhook.disabled',
        data: {
          webhookId: 'whk_1',
          url: 'https://hooks.example.com/a',
          reason: 'HTTP 500',
          failingSince: '2026-01-01T00:00:00.000Z',
        },
      }),
    );
    await harness.deliver();
    const [email] = emailsTo(people[0]?.email ?? '');
    expect(email?.body).toContain('https://hooks.example.com/a');
  });
});

test('an unknown type of an older or newer version does not block other notices', async () => {
  const { orgId, people } = await harness.organisation('owner');
  for (const addressed of ['null', 'now()']) {
    await harness.rows(
      `insert into notices (id, org_id, mode, type, data, occurred_at, addressed_at)
       values ('${toUuid(testIds.next('ntc'))}', '${toUuid(orgId)}', 'live', 'weather.bad', '{}',
               '${harness.clock.now().toISOString()}', ${addressed})`,
    );
  }
  await harness.rows(
    `insert into notice_mails (notice_id, user_id, org_id, mode, category, state, next_attempt_at, created_at)
     select id, '${toUuid(people[0]?.userId ?? orgId)}', org_id, mode, 'balance', 'waiting', occurred_at, occurred_at
       from notices where addressed_at is not null`,
  );
  await harness.events(orgId, [low]);
  await harness.deliver();
  expect(emailsTo(people[0]?.email ?? '')).toHaveLength(1);
  expect((await harness.mails(orgId)).map(({ state }) => state).toSorted()).toEqual(['sent', 'waiting']);
});

describe('an email', () => {
  test('whose worker died is sent again under the same id, but not before its claim expires', async () => {
    const { orgId, people } = await harness.organisation('owner');
    const [owner] = people;
    const dying: Mailer = {
      from: harness.mailer.from,
      send: async (email) => {
        await harness.mailer.send(email);
        throw new Error('killed');
      },
    };
    await harness.events(orgId, [low]);
    await assignDueRecipients(harness.db, { log: testLog(), limit: 10 });
    const sending = { db: harness.db, clock: harness.clock, log: testLog(), consoleUrl: null, limit: 5 };
    await sendDueEmails({ ...sending, mailer: dying, leaseMs: 600_000 });
    expect(await harness.deliver()).toMatchObject({ claimed: 0 });
    await harness.rows(`update notice_mails set claimed_until = clock_timestamp()`);
    expect(await harness.deliver()).toMatchObject({ claimed: 1 });
    const ids = emailsTo(owner?.email ?? '').map(({ headers }) => headers['message-id']);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
    expect(await harness.mails(orgId)).toMatchObject([{ state: 'sent', attempts: 0 }]);
  });

  test('that another worker has claimed is settled by that worker alone', async () => {
    const { orgId } = await harness.organisation('owner');
    await harness.events(orgId, [low]);
    await assignDueRecipients(harness.db, { log: testLog(), limit: 10 });
    const request = { now: harness.clock.now(), limit: 5 };
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
    const [slow] = await claimEmails(harness.db, { ...request, claim: first, leaseMs: 0 });
    const [quick] = await claimEmails(harness.db, { ...request, claim: second, leaseMs: 60_000 });
    if (slow === undefined || quick === undefined) throw new Error('Nothing was claimed.');
    const refused = { state: 'refused', reason: 'late' } as const;
    expect(await recordEmailOutcome(harness.db, slow, refused, request.now)).toBe(false);
    expect(await recordEmailOutcome(harness.db, quick, { state: 'sent' }, request.now)).toBe(true);
    expect(await recordEmailOutcome(harness.db, quick, refused, request.now)).toBe(false);
    expect(await harness.mails(orgId)).toMatchObject([{ state: 'sent' }]);
  });

  test('that the server defers is retried on the schedule; a rejected one is not, and its reason is stored', async () => {
    const { orgId, people } = await harness.organisation('owner', 'admin');
    const [greylisted, unknown] = people.map(({ email }) => email);
    harness.smtp.refuse('RCPT TO', { code: 451, text: 'come again' }, greylisted);
    harness.smtp.refuse('RCPT TO', { code: 550, text: 'no such mailbox' }, unknown);
    await harness.events(orgId, [low]);
    await harness.deliver();
    const states = async () =>
      (await harness.mails(orgId)).map(({ state, attempts }) => `${state} ${attempts}`).toSorted();
    expect(await states()).toEqual(['refused 0', 'waiting 1']);
    const reasons = (await harness.mails(orgId)).map(({ last_error }) => last_error).join('; ');
    expect(reasons).toContain('come again');
    expect(reasons).toContain('no such mailbox');
    harness.smtp.accept();
    expect((await harness.deliver()).claimed).toBe(0);
    await harness.clock.advance(61_000);
    expect((await harness.deliver()).claimed).toBe(1);
    expect(await states()).toEqual(['refused 0', 'sent 1']);
  });

  test('waits for a server that accepts nothing, without counting an attempt', async () => {
    const { orgId, people } = await harness.organisation('owner');
    const outage: Mailer = {
      from: harness.mailer.from,
      send: async (_email: Email): Promise<SendOutcome> => ({ kind: 'unavailable', reason: 'away' }),
    };
    await harness.events(orgId, [low]);
    for (let minute = 0; minute < 12; minute += 1) {
      expect(await harness.deliver({ mailer: outage })).toEqual({ claimed: 1, unavailable: 'away' });
      await harness.clock.advance(61_000);
    }
    expect(await harness.mails(orgId)).toMatchObject([{ state: 'waiting', attempts: 0, last_error: 'away' }]);
    await harness.deliver();
    expect(emailsTo(people[0]?.email ?? '')).toHaveLength(1);
  });

  test('is not sent to a user who has left or lost the right since it was addressed', async () => {
    const { orgId, people } = await harness.organisation('owner', 'admin', 'admin');
    const [owner, left, demoted] = people;
    if (owner === undefined || left === undefined || demoted === undefined)
      throw new Error('The organisation has no such member.');
    await harness.events(orgId, [low]);
    await assignDueRecipients(harness.db, { log: testLog(), limit: 10 });
    await harness.rows(`delete from members where user_id = '${toUuid(left.userId)}'`);
    await harness.rows(`update members set role = 'viewer' where user_id = '${toUuid(demoted.userId)}'`);
    await harness.deliver();
    expect(people.map(({ email }) => emailsTo(email).length)).toEqual([1, 0, 0]);
    const skipped = (await harness.mails(orgId)).filter(({ state }) => state === 'skipped');
    expect(skipped.map(({ user_id }) => fromUuid('usr', user_id)).toSorted()).toEqual(
      [left.userId, demoted.userId].toSorted(),
    );
  });
});

describe('the limits of notices', () => {
  test('allow a number of emails per category, user and hour, and do not affect other categories', async () => {
    const { orgId, people } = await harness.organisation('owner');
    const [owner] = people;
    if (owner === undefined) throw new Error('The organisation has no such member.');
    const many = Array.from({ length: EMAILS_PER_HOUR + 5 }, () => keyCreated(owner.userId));
    await harness.events(orgId, [...many, low]);
    await harness.deliver();
    const states = (await harness.mails(orgId)).map(({ state }) => state);
    expect(states.filter((state) => state === 'waiting')).toHaveLength(5);
    expect(emailsTo(owner.email)).toHaveLength(EMAILS_PER_HOUR + 1);
    await harness.clock.advance(HOUR_MS + 1);
    await harness.events(orgId, [keyCreated(owner.userId)]);
    await harness.deliver();
    expect(emailsTo(owner.email)).toHaveLength(EMAILS_PER_HOUR + 3);
  });

  test('count live mode separately from opted-in test mode', async () => {
    const { orgId, people } = await harness.organisation('owner');
    const [owner] = people;
    if (owner === undefined) throw new Error('The organisation has no such member.');
    await harness.db.transaction({ name: 'choose', isolation }, (tx) =>
      saveChoice(tx, orgId, { userId: owner.userId, mode: 'test' }, { category: 'balance', wanted: true }),
    );
    await harness.events(
      orgId,
      Array.from({ length: EMAILS_PER_HOUR }, () => ({ ...low, mode: 'test' as const })),
    );
    await harness.events(orgId, [low]);
    await harness.deliver();
    expect((await harness.mails(orgId)).map(({ state }) => state)).not.toContain('skipped');
    expect(emailsTo(owner.email)).toHaveLength(EMAILS_PER_HOUR + 1);
  });

  test('skip notices that are older than a day', async () => {
    const { orgId } = await harness.organisation('owner');
    await harness.events(orgId, [low]);
    await harness.clock.advance(25 * HOUR_MS);
    await harness.deliver();
    expect(await harness.mails(orgId)).toEqual([]);
    expect(await assignDueRecipients(harness.db, { log: testLog(), limit: 10 })).toBe(0);
  });

  test('delete old notices with their emails', async () => {
    const { orgId } = await harness.organisation('owner');
    await harness.events(orgId, [low]);
    await harness.deliver();
    const deleteOld = (olderThanMs: number) =>
      harness.db.transaction({ name: 'forget', isolation }, (tx) =>
        deleteOldNotices(tx, { olderThanMs, limit: 10 }),
      );
    expect(await deleteOld(HOUR_MS)).toBe(0);
    expect(await deleteOld(0)).toBe(1);
    expect(await harness.mails(orgId)).toEqual([]);
  });
});

describe('startNotices', () => {
  test('sends notices while its loops run, and logs if no server is set', async () => {
    const { db } = harness;
    const { orgId, people } = await harness.organisation('owner');
    let logged = '';
    const destination = { write: (line: string) => void (logged += line) };
    const log = createLogger({ name: 'worker', level: 'warn', destination });
    const idle = startNotices({ db, clock: systemClock, log, mailer: null, consoleUrl: null });
    await Promise.all(idle.map((loop) => loop.stop()));
    expect(logged).toContain('MILLRACE_SMTP_URL is not set');

    const { mailer } = harness;
    const loops = startNotices({ db, clock: harness.clock, log, mailer, consoleUrl: null });
    await harness.events(orgId, [low]);
    await eventually({ what: 'the email' }, async () => {
      await harness.clock.advance(1_000);
      return emailsTo(people[0]?.email ?? '').length === 1;
    });
    await Promise.all(loops.map((loop) => loop.stop()));
  });
});
