import { isUnavailable } from '@millrace/platform/db';
import { toUuid, type InvitationId, type OrgId } from '@millrace/platform/ids';
import { eventually, testIds, uniqueId } from '@millrace/testing';
import { afterAll, describe, expect, test } from 'vitest';
import { erasePersonalData } from '../identity/index.ts';
import {
  acceptInvitation,
  cancelInvitation,
  declineInvitation,
  inviteMember,
} from './invitations.service.ts';
import {
  INVITATION_EMAILS_PER_DAY,
  INVITATION_TTL_MS,
  INVITATIONS_PER_DAY,
  PENDING_INVITATIONS_MAX,
} from './people.ts';
import { openPeopleHarness, type PeopleHarness, type TestPerson } from './people-harness.fixture.ts';
import { listOpenInvitations, listUnansweredInvitations } from './people.store.ts';

const harness = await openPeopleHarness();
afterAll(() => harness.close());

const refused = (reason: string) => expect.objectContaining({ reason });
const invite = (
  { call }: Awaited<ReturnType<PeopleHarness['member']>>,
  email: string,
  role: 'owner' | 'admin' | 'member' | 'viewer' = 'member',
) => harness.inTx((tx) => inviteMember(tx, call, { email, role, link: null, refuseLink: null }));
const accept = ({ cause, userId }: TestPerson, id: InvitationId) =>
  harness.inTx((tx) => acceptInvitation(tx, cause, userId, id, 'mail'));
const decline = ({ cause, userId }: TestPerson, id: InvitationId) =>
  harness.inTx((tx) => declineInvitation(tx, cause, userId, id, 'mail'));
const rolesOf = (orgId: OrgId, { userId }: TestPerson) =>
  harness.rows<{ role: string }>(
    `select role from members where org_id = '${toUuid(orgId)}' and user_id = '${toUuid(userId)}'`,
  );
const emailsOf = (email: string) =>
  harness.rows<{ state: string }>(
    `select state from notice_mails where email = '${email}' order by created_at, notice_id`,
  );
const actions = async (id: InvitationId) =>
  (
    await harness.rows<{ action: string }>(
      `select action from audit_log where resource_id = '${id}' order by occurred_at, id`,
    )
  ).map(({ action }) => action);

async function setUp(role: 'owner' | 'admin' = 'owner') {
  const orgId = await harness.organisation();
  return { orgId, host: await harness.member(orgId, role), guest: await harness.person() };
}

describe('an invitation', () => {
  test('creates no member for a user who is deleted at the same time', async () => {
    const { orgId, host, guest } = await setUp();
    const { id } = await invite(host, guest.email);
    const [deleted, isWaiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const deleting = harness.inTx(async (tx) => {
      expect(await erasePersonalData(tx, guest.email)).toMatchObject({ kind: 'forgotten' });
      deleted.resolve();
      await isWaiting.promise;
    });
    await deleted.promise;
    const accepting = accept(guest, id).catch((error: unknown) => error);
    await eventually({ what: 'the acceptance to wait for the row' }, async () => {
      const waiting = await harness.rows(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return waiting.length > 0;
    });
    isWaiting.resolve();
    await deleting;
    expect(await accepting).toEqual(refused('EMAIL_NOT_VERIFIED'));
    expect(await rolesOf(orgId, guest)).toEqual([]);
  });

  test('creates a member with the offered role once, and writes audit entries', async () => {
    const { orgId, host, guest } = await setUp();
    const { id } = await invite(host, guest.email);
    const open = await listOpenInvitations(harness.db, guest.email, harness.clock.now(), {
      limit: 10,
      after: null,
    });
    expect(open.map((each) => each.id)).toEqual([id]);
    expect(await accept(guest, id)).toMatchObject({ role: 'member', organisation: { id: orgId } });
    expect(await rolesOf(orgId, guest)).toEqual([{ role: 'member' }]);
    expect(await actions(id)).toEqual(['invitation.created', 'invitation.accepted']);
    expect(await listUnansweredInvitations(harness.db, orgId, { limit: 10, after: null })).toEqual([]);
  });

  test('accepted concurrently creates one member, and each request gets the same response', async () => {
    const { orgId, host, guest } = await setUp();
    const { id } = await invite(host, guest.email);
    const responses = await Promise.all(Array.from({ length: 6 }, () => accept(guest, id)));
    expect(new Set(responses.map(({ role }) => role))).toEqual(new Set(['member']));
    expect(await rolesOf(orgId, guest)).toHaveLength(1);
    expect(await actions(id)).toEqual(['invitation.created', 'invitation.accepted']);
  });

  test('accepted and declined at once has one of the two outcomes', async () => {
    const { orgId, host, guest } = await setUp();
    const { id } = await invite(host, guest.email);
    const [yes, no] = await Promise.allSettled([accept(guest, id), decline(guest, id)]);
    expect([yes.status, no.status].toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(await rolesOf(orgId, guest)).toHaveLength(yes.status === 'fulfilled' ? 1 : 0);
  });

  test('to an invited address renews the same invitation with the newer role, also concurrently', async () => {
    const { orgId, host, guest } = await setUp();
    const made = await Promise.all(Array.from({ length: 5 }, () => invite(host, guest.email, 'viewer')));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    await harness.clock.advance(1_000);
    const again = await invite(host, guest.email, 'admin');
    expect(again.expiresAt.getTime()).toBeGreaterThan(made[0]?.expiresAt.getTime() ?? Infinity);
    expect(
      (await listUnansweredInvitations(harness.db, orgId, { limit: 10, after: null })).map(
        ({ role }) => role,
      ),
    ).toEqual(['admin']);
    expect(await accept(guest, again.id)).toMatchObject({ role: 'admin' });
  });

  test('expires after seven days by the clock, and can be renewed', async () => {
    const { host, guest } = await setUp();
    const { id } = await invite(host, guest.email);
    await harness.clock.advance(INVITATION_TTL_MS);
    await expect(accept(guest, id)).rejects.toEqual(refused('INVITATION_NOT_FOUND'));
    await expect(decline(guest, id)).rejects.toEqual(refused('INVITATION_NOT_FOUND'));
    expect((await invite(host, guest.email)).id).toBe(id);
    expect(await accept(guest, id)).toMatchObject({ role: 'member' });
  });

  test('that was withdrawn, declined or is for another address is not found', async () => {
    const { orgId, host, guest } = await setUp();
    const first = await invite(host, guest.email);
    const absent = refused('INVITATION_NOT_FOUND');
    await expect(accept(await harness.person(), first.id)).rejects.toEqual(absent);
    await expect(accept(guest, testIds.next('inv'))).rejects.toEqual(absent);
    const outsider = await setUp();
    await expect(harness.inTx((tx) => cancelInvitation(tx, outsider.host.call, first.id))).rejects.toEqual(
      absent,
    );
    await harness.inTx((tx) => cancelInvitation(tx, host.call, first.id));
    await expect(accept(guest, first.id)).rejects.toEqual(absent);
    const second = await invite(host, guest.email);
    expect(second.id).not.toBe(first.id);
    await decline(guest, second.id);
    await expect(accept(guest, second.id)).rejects.toEqual(absent);
    expect(await rolesOf(orgId, guest)).toEqual([]);
    expect(await actions(second.id)).toEqual(['invitation.created', 'invitation.declined']);
  });

  test('cannot be accepted by a user without a verified email address', async () => {
    const { host } = await setUp();
    const guest = await harness.person({ isVerified: false });
    const { id } = await invite(host, guest.email);
    await expect(accept(guest, id)).rejects.toEqual(refused('EMAIL_NOT_VERIFIED'));
  });
});

describe("granting a role beyond the inviter's rights", () => {
  test('is rejected when inviting', async () => {
    const { host, guest } = await setUp('admin');
    await expect(invite(host, guest.email, 'owner')).rejects.toEqual(refused('SCOPE_ESCALATION'));
    const orgId = await harness.organisation();
    const viewer = await harness.member(orgId, 'viewer');
    await expect(invite(viewer, guest.email)).rejects.toEqual(refused('INSUFFICIENT_SCOPE'));
  });

  test('is rejected when accepting, after the inviter was demoted or left', async () => {
    const { orgId, host, guest } = await setUp();
    const { id } = await invite(host, guest.email, 'owner');
    const where = `where org_id = '${toUuid(orgId)}' and user_id = '${toUuid(host.userId)}'`;
    await harness.rows(`update members set role = 'member' ${where}`);
    await expect(accept(guest, id)).rejects.toEqual(refused('INVITATION_NOT_VALID'));
    await harness.rows(`delete from members ${where}`);
    await expect(accept(guest, id)).rejects.toEqual(refused('INVITATION_NOT_VALID'));
    expect(await rolesOf(orgId, guest)).toEqual([]);
  });
});

describe('an organisation', () => {
  test('that is suspended accepts no members and shows no invitations', async () => {
    const { orgId, host, guest } = await setUp();
    const { id } = await invite(host, guest.email);
    await harness.rows(
      `update organisations set status = 'suspended', suspended_at = now(), suspended_reason = 'test'
        where id = '${toUuid(orgId)}'`,
    );
    await expect(accept(guest, id)).rejects.toEqual(refused('ORGANISATION_SUSPENDED'));
    const shown = await listOpenInvitations(harness.db, guest.email, harness.clock.now(), {
      limit: 10,
      after: null,
    });
    expect(shown).toEqual([]);
  });

  test('cannot invite its own members', async () => {
    const { orgId, host } = await setUp();
    const other = await harness.member(orgId, 'viewer');
    await expect(invite(host, other.email)).rejects.toEqual(refused('MEMBER_EXISTS'));
  });

  test('has limits for open invitations and invitations per day, also for concurrent requests', async () => {
    const { orgId, host } = await setUp();
    // So many concurrent requests may wait too long for a lock on a slow machine; a client retries them.
    const retryInvite = async (email: string): Promise<unknown> =>
      invite(host, email).catch((error: unknown) =>
        isUnavailable(error) ? retryInvite(email) : Promise.reject(error as Error),
      );
    const many = (count: number) =>
      Promise.allSettled(Array.from({ length: count }, () => retryInvite(`x-${uniqueId()}@example.com`)));
    const done = (responses: readonly PromiseSettledResult<unknown>[]) =>
      responses.filter(({ status }) => status === 'fulfilled').length;
    expect(done(await many(PENDING_INVITATIONS_MAX - 2))).toBe(PENDING_INVITATIONS_MAX - 2);
    expect(done(await many(6))).toBe(2);
    const close = () =>
      harness.rows(
        `update invitations set status = 'canceled', answered_at = now()
          where org_id = '${toUuid(orgId)}' and status = 'pending'`,
      );
    await close();
    expect(done(await many(PENDING_INVITATIONS_MAX))).toBe(INVITATIONS_PER_DAY - PENDING_INVITATIONS_MAX);
    await close();
    await expect(invite(host, 'one-more@example.com')).rejects.toEqual(refused('INVITATION_LIMIT_REACHED'));
  });
});

test('renewing expired invitations counts against the daily limit', async () => {
  const { orgId, host, guest } = await setUp();
  await invite(host, guest.email);
  await harness.clock.advance(INVITATION_TTL_MS);
  const inviterId = toUuid(host.userId);
  const at = harness.clock.now();
  const ends = new Date(at.getTime() + INVITATION_TTL_MS).toISOString();
  // The daily maximum, each created before, renewed just now and answered.
  await harness.rows(
    `insert into invitations (id, org_id, email, role, inviter_id, status, created_at, expires_at, answered_at)
     select gen_random_uuid(), '${toUuid(orgId)}', 'x-' || n || '@example.com', 'member', '${inviterId}',
            'rejected', timestamptz '${at.toISOString()}' - interval '8 days', '${ends}', '${at.toISOString()}'
       from generate_series(1, ${String(INVITATIONS_PER_DAY)}) as n`,
  );
  await expect(invite(host, guest.email)).rejects.toEqual(refused('INVITATION_LIMIT_REACHED'));
});

describe('the invitation email', () => {
  test('is a row of the same transaction: it exists only with the invitation', async () => {
    const { host, guest } = await setUp();
    await expect(
      harness.inTx(async (tx) => {
        await inviteMember(tx, host.call, {
          email: guest.email,
          role: 'member',
          link: null,
          refuseLink: null,
        });
        throw new Error('died before the commit');
      }),
    ).rejects.toThrow('died before the commit');
    expect(await emailsOf(guest.email)).toEqual([]);
    await invite(host, guest.email);
    expect(await emailsOf(guest.email)).toEqual([{ state: 'waiting' }]);
  });

  test('is cancelled with the invitation, and by a newer one', async () => {
    const { host, guest } = await setUp();
    const { id } = await invite(host, guest.email);
    await harness.clock.advance(1_000);
    await invite(host, guest.email);
    expect(await emailsOf(guest.email)).toEqual([{ state: 'skipped' }, { state: 'waiting' }]);
    await harness.inTx((tx) => cancelInvitation(tx, host.call, id));
    expect(await emailsOf(guest.email)).toEqual([{ state: 'skipped' }, { state: 'skipped' }]);
  });

  test('is limited per address and day over all organisations; the invitation itself is still created', async () => {
    const guest = await harness.person();
    const hosts = await Promise.all(
      Array.from({ length: INVITATION_EMAILS_PER_DAY + 2 }, async () => (await setUp()).host),
    );
    // Concurrently: each invitation locks another organisation.
    await Promise.all(hosts.map((host) => invite(host, guest.email)));
    expect(await emailsOf(guest.email)).toHaveLength(INVITATION_EMAILS_PER_DAY);
    const open = await listOpenInvitations(harness.db, guest.email, harness.clock.now(), {
      limit: 50,
      after: null,
    });
    expect(open).toHaveLength(INVITATION_EMAILS_PER_DAY + 2);
  });
});
