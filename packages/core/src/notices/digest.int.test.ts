import { randomUUID } from 'node:crypto';
import { toUuid } from '@millrace/platform/ids';
import type { Email, Mailer, SendOutcome } from '@millrace/platform/mail';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { claimDigest, recordDigestOutcome } from './digest.store.ts';
import { EMAILS_PER_HOUR } from './notices.service.ts';
import { claimEmails } from './notices.store.ts';
import { openNoticesHarness } from './notices-harness.fixture.ts';

const HOUR_MS = 3_600_000;

const harness = await openNoticesHarness();
beforeEach(async () => {
  harness.smtp.accept();
  await harness.rows('truncate notices cascade');
});
afterAll(() => harness.close());

const emailsTo = (email: string) => harness.smtp.emails.filter(({ to }) => to.includes(email));

function expiring(rentalId: number, fromNowMs: number) {
  const data = {
    rentalId,
    externalId: `v1-${rentalId}`,
    rentalType: 'virtual-machine',
    name: null,
    gpuType: 'h100',
    gpuCount: 1,
    region: 'us-central-1',
    expiresAt: new Date(harness.clock.nowMs() + fromNowMs).toISOString(),
    cause: 'ttl',
    next: 'terminate',
  };
  return { type: 'rental.expiring', data } as const;
}

async function owner() {
  const { orgId, people } = await harness.organisation('owner');
  const [person] = people;
  if (person === undefined) throw new Error('The organisation has no owner.');
  return { orgId, ...person };
}

/** The emails that mention a rental, and how many of them are digests. */
function namedIn(email: string, rentalId: number) {
  const bodies = emailsTo(email).map(({ body }) => body);
  return bodies.filter((body) =>
    new RegExp(`Rental ${rentalId} ends`).test(body.replaceAll(/=?\r?\n/g, ' ')),
  );
}

test('30 warnings in an hour are all listed: 20 in separate emails, the others in one digest within five minutes', async () => {
  const { orgId, email } = await owner();
  const rentals = Array.from({ length: EMAILS_PER_HOUR + 10 }, (_, index) => 1_001 + index);
  await harness.events(
    orgId,
    rentals.map((id) => expiring(id, HOUR_MS)),
  );
  await harness.deliver();
  expect(emailsTo(email)).toHaveLength(EMAILS_PER_HOUR);
  await harness.clock.advance(300_000);
  await harness.deliver();
  expect(emailsTo(email)).toHaveLength(EMAILS_PER_HOUR + 1);
  expect(emailsTo(email).at(-1)?.headers['subject']).toContain(
    '10 more notices about expiring rentals and instances',
  );
  for (const id of rentals) expect([id, namedIn(email, id).length]).toEqual([id, 1]);
  const states = new Set((await harness.mails(orgId)).map(({ state }) => state));
  expect(states).toEqual(new Set(['sent']));
  await harness.clock.advance(HOUR_MS);
  expect(await harness.deliver()).toEqual({ claimed: 0, unavailable: null });
});

test('several workers list each notice of a digest once', async () => {
  const { orgId, email } = await owner();
  const rentals = Array.from({ length: EMAILS_PER_HOUR + 30 }, (_, index) => 2_001 + index);
  await harness.events(
    orgId,
    rentals.map((id) => expiring(id, HOUR_MS)),
  );
  await harness.deliver();
  await harness.clock.advance(300_000);
  await Promise.all([harness.deliver(), harness.deliver(), harness.deliver()]);
  // A notice that two workers tried to claim at the same moment is sent in the next round.
  await harness.deliver();
  for (const id of rentals) expect([id, namedIn(email, id).length]).toEqual([id, 1]);
});

test('a notice that is locked while its digest is made is not recorded as sent, and is in the next digest', async () => {
  const { orgId, email } = await owner();
  const rentals = Array.from({ length: EMAILS_PER_HOUR + 3 }, (_, index) => 5_001 + index);
  await harness.events(
    orgId,
    rentals.map((id) => expiring(id, HOUR_MS)),
  );
  await harness.deliver();
  await harness.clock.advance(300_000);
  const claim = { claim: randomUUID(), now: harness.clock.now(), leaseMs: 60_000, limit: 5 };
  const claimed = await claimEmails(harness.db, claim);
  const [first = expect.fail('No notice is due.'), locked] = claimed;
  expect(claimed).toHaveLength(3);
  await harness.rows('begin');
  await harness.rows(
    `select 1 from notice_mails where notice_id = '${toUuid(locked?.notice.id ?? expect.fail('One is due.'))}' for update`,
  );
  const digested = await claimDigest(harness.db, first, { leaseMs: 60_000, limit: 500 });
  await harness.rows('rollback');
  expect(digested).toHaveLength(2);
  const outcome = { settlement: { state: 'sent' }, now: harness.clock.now() } as const;
  await recordDigestOutcome(harness.db, first, digested, outcome);
  const states = (await harness.mails(orgId)).map(({ state }) => state);
  expect(states.filter((state) => state === 'waiting')).toHaveLength(1);
  await harness.deliver();
  expect(emailsTo(email)).toHaveLength(EMAILS_PER_HOUR + 1);
  expect(new Set((await harness.mails(orgId)).map(({ state }) => state))).toEqual(new Set(['sent']));
});

test('a digest that the server defers is sent later, and complete', async () => {
  const { orgId, email } = await owner();
  const rentals = Array.from({ length: EMAILS_PER_HOUR + 3 }, (_, index) => 3_001 + index);
  await harness.events(
    orgId,
    rentals.map((id) => expiring(id, HOUR_MS)),
  );
  await harness.deliver();
  await harness.clock.advance(300_000);
  const putOff: Mailer = {
    from: harness.mailer.from,
    send: async (_email: Email): Promise<SendOutcome> => ({ kind: 'deferred', reason: 'greylisted' }),
  };
  await harness.deliver({ mailer: putOff });
  expect(emailsTo(email)).toHaveLength(EMAILS_PER_HOUR);
  await harness.clock.advance(61_000);
  await harness.deliver();
  expect(emailsTo(email)).toHaveLength(EMAILS_PER_HOUR + 1);
  expect(namedIn(email, 3_023)).toHaveLength(1);
});

test('a warning that waited for more than a day is sent before the deletion, and not after it', async () => {
  const { orgId, email } = await owner();
  await harness.events(orgId, [expiring(4_001, 48 * HOUR_MS), expiring(4_002, HOUR_MS)]);
  await harness.clock.advance(25 * HOUR_MS);
  await harness.deliver();
  expect([namedIn(email, 4_001).length, namedIn(email, 4_002).length]).toEqual([1, 0]);
});

test('a digest is not sent to a user who has left', async () => {
  const { orgId, email, userId } = await owner();
  await harness.events(
    orgId,
    Array.from({ length: EMAILS_PER_HOUR + 2 }, (_, index) => expiring(5_001 + index, HOUR_MS)),
  );
  await harness.deliver();
  await harness.rows(`delete from members where user_id = '${toUuid(userId)}'`);
  await harness.clock.advance(300_000);
  await harness.deliver();
  expect(emailsTo(email)).toHaveLength(EMAILS_PER_HOUR);
  expect((await harness.mails(orgId)).filter(({ state }) => state === 'skipped')).toHaveLength(2);
});
