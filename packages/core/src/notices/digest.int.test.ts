import { randomUUID } from 'node:crypto';
import { toUuid } from '@millrace/platform/ids';
import type { Email, Mailer, SendOutcome } from '@millrace/platform/mail';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { claimDigest, recordDigestOutcome } from './digest.store.ts';
import { EMAILS_PER_HOUR } from './notices.service.ts';
import { claimEmails } from './notices.store.ts';
import { openNoticesHarness, type NoticesHarness } from './notices-harness.fixture.ts';

const HOUR_MS = 3_600_000;
let world: NoticesHarness;

beforeAll(async () => {
  world = await openNoticesHarness();
});
beforeEach(async () => {
  world.smtp.accept();
  await world.rows('truncate notices cascade');
});
afterAll(() => world.close());

const lettersTo = (email: string) => world.smtp.letters.filter(({ to }) => to.includes(email));

function expiring(rentalId: number, fromNowMs: number) {
  const data = {
    rentalId,
    externalId: `v1-${rentalId}`,
    rentalType: 'virtual-machine',
    name: null,
    gpuType: 'h100',
    gpuCount: 1,
    region: 'us-central-1',
    expiresAt: new Date(world.clock.nowMs() + fromNowMs).toISOString(),
    cause: 'ttl',
    next: 'terminate',
  };
  return { type: 'rental.expiring', data } as const;
}

async function owner() {
  const { orgId, people } = await world.organisation('owner');
  const [person] = people;
  if (person === undefined) throw new Error('The organisation has no owner.');
  return { orgId, ...person };
}

/** The letters that name a rental, and how many of them do so in a digest. */
function namedIn(email: string, rentalId: number) {
  const bodies = lettersTo(email).map(({ body }) => body);
  return bodies.filter((body) =>
    new RegExp(`Rental ${rentalId} ends`).test(body.replaceAll(/=?\r?\n/g, ' ')),
  );
}

test('30 warnings in an hour are all named: 20 by themselves, the others in one digest within five minutes', async () => {
  const { orgId, email } = await owner();
  const rentals = Array.from({ length: EMAILS_PER_HOUR + 10 }, (_, index) => 1_001 + index);
  await world.events(
    orgId,
    rentals.map((id) => expiring(id, HOUR_MS)),
  );
  await world.deliver();
  expect(lettersTo(email)).toHaveLength(EMAILS_PER_HOUR);
  await world.clock.advance(300_000);
  await world.deliver();
  expect(lettersTo(email)).toHaveLength(EMAILS_PER_HOUR + 1);
  expect(lettersTo(email).at(-1)?.headers['subject']).toContain(
    '10 more notices about rentals and instances that end',
  );
  for (const id of rentals) expect([id, namedIn(email, id).length]).toEqual([id, 1]);
  const states = new Set((await world.mails(orgId)).map(({ state }) => state));
  expect(states).toEqual(new Set(['sent']));
  await world.clock.advance(HOUR_MS);
  expect(await world.deliver()).toEqual({ claimed: 0, unavailable: null });
});

test('several workers name each notice of a digest once', async () => {
  const { orgId, email } = await owner();
  const rentals = Array.from({ length: EMAILS_PER_HOUR + 30 }, (_, index) => 2_001 + index);
  await world.events(
    orgId,
    rentals.map((id) => expiring(id, HOUR_MS)),
  );
  await world.deliver();
  await world.clock.advance(300_000);
  await Promise.all([world.deliver(), world.deliver(), world.deliver()]);
  // A notice that two workers reached for at the same moment is sent in the next round.
  await world.deliver();
  for (const id of rentals) expect([id, namedIn(email, id).length]).toEqual([id, 1]);
});

test('a notice that is locked while its digest is made is not recorded as sent, and is in the next digest', async () => {
  const { orgId, email } = await owner();
  const rentals = Array.from({ length: EMAILS_PER_HOUR + 3 }, (_, index) => 5_001 + index);
  await world.events(
    orgId,
    rentals.map((id) => expiring(id, HOUR_MS)),
  );
  await world.deliver();
  await world.clock.advance(300_000);
  const claim = { claim: randomUUID(), now: world.clock.now(), leaseMs: 60_000, limit: 5 };
  const claimed = await claimEmails(world.db, claim);
  const [first = expect.fail('No notice is due.'), locked] = claimed;
  expect(claimed).toHaveLength(3);
  await world.rows('begin');
  await world.rows(
    `select 1 from notice_mails where notice_id = '${toUuid(locked?.notice.id ?? expect.fail('One is due.'))}' for update`,
  );
  const digested = await claimDigest(world.db, first, { leaseMs: 60_000, limit: 500 });
  await world.rows('rollback');
  expect(digested).toHaveLength(2);
  const outcome = { settlement: { state: 'sent' }, now: world.clock.now() } as const;
  await recordDigestOutcome(world.db, first, digested, outcome);
  const states = (await world.mails(orgId)).map(({ state }) => state);
  expect(states.filter((state) => state === 'waiting')).toHaveLength(1);
  await world.deliver();
  expect(lettersTo(email)).toHaveLength(EMAILS_PER_HOUR + 1);
  expect(new Set((await world.mails(orgId)).map(({ state }) => state))).toEqual(new Set(['sent']));
});

test('a digest that the server puts off is sent later, and whole', async () => {
  const { orgId, email } = await owner();
  const rentals = Array.from({ length: EMAILS_PER_HOUR + 3 }, (_, index) => 3_001 + index);
  await world.events(
    orgId,
    rentals.map((id) => expiring(id, HOUR_MS)),
  );
  await world.deliver();
  await world.clock.advance(300_000);
  const putOff: Mailer = {
    from: world.mailer.from,
    send: async (_letter: Email): Promise<SendOutcome> => ({ kind: 'deferred', reason: 'greylisted' }),
  };
  await world.deliver({ mailer: putOff });
  expect(lettersTo(email)).toHaveLength(EMAILS_PER_HOUR);
  await world.clock.advance(61_000);
  await world.deliver();
  expect(lettersTo(email)).toHaveLength(EMAILS_PER_HOUR + 1);
  expect(namedIn(email, 3_023)).toHaveLength(1);
});

test('a warning that waited for more than a day is sent while the deletion is ahead, and not after it', async () => {
  const { orgId, email } = await owner();
  await world.events(orgId, [expiring(4_001, 48 * HOUR_MS), expiring(4_002, HOUR_MS)]);
  await world.clock.advance(25 * HOUR_MS);
  await world.deliver();
  expect([namedIn(email, 4_001).length, namedIn(email, 4_002).length]).toEqual([1, 0]);
});

test('a digest is not sent to a person who has left', async () => {
  const { orgId, email, userId } = await owner();
  await world.events(
    orgId,
    Array.from({ length: EMAILS_PER_HOUR + 2 }, (_, index) => expiring(5_001 + index, HOUR_MS)),
  );
  await world.deliver();
  await world.rows(`delete from members where user_id = '${toUuid(userId)}'`);
  await world.clock.advance(300_000);
  await world.deliver();
  expect(lettersTo(email)).toHaveLength(EMAILS_PER_HOUR);
  expect((await world.mails(orgId)).filter(({ state }) => state === 'skipped')).toHaveLength(2);
});
