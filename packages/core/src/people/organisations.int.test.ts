import { toUuid } from '@millrace/platform/ids';
import { countStatements } from '@millrace/testing';
import { afterAll, describe, expect, test } from 'vitest';
import { createOwnOrganisation, listMemberships } from './organisations.service.ts';
import { OWNED_ORGANISATIONS_MAX, DUPLICATE_ORGANISATION_MS } from './people.ts';
import { openPeopleHarness, type TestPerson } from './people-harness.fixture.ts';

const harness = await openPeopleHarness();
afterAll(() => harness.close());

const create = ({ cause, userId }: TestPerson, name: string) =>
  harness.inTx((tx) =>
    createOwnOrganisation(tx, cause, userId, { name, homeCell: 1, mustVerifyEmail: true }),
  );
const mine = ({ userId }: TestPerson, limit = 50) =>
  listMemberships(harness.db, userId, { limit, after: null });

describe('an organisation created by a user', () => {
  test('is owned by the user, with a unique slug and an audit entry', async () => {
    const [ada, bob] = [await harness.person(), await harness.person()];
    const first = await create(ada, 'Ünique Lab');
    const second = await create(bob, 'Ünique Lab');
    expect(first).toMatchObject({ role: 'owner', organisation: { name: 'Ünique Lab', homeCell: 1 } });
    expect(second.organisation.slug).not.toBe(first.organisation.slug);
    expect((await mine(ada)).map(({ organisation }) => organisation.id)).toEqual([first.organisation.id]);
    const audit = await harness.rows(
      `select action, actor_kind, actor_id from audit_log where resource_id = '${first.organisation.id}'`,
    );
    expect(audit).toEqual([{ action: 'organisation.created', actor_kind: 'user', actor_id: ada.userId }]);
  });

  test('is listed with the others by two statements, however many there are', async () => {
    const ada = await harness.person();
    for (const name of ['One', 'Two', 'Three', 'Four', 'Five']) await create(ada, name);
    let listed: readonly string[] = [];
    const statements = await countStatements(async () => {
      listed = (await mine(ada)).map(({ organisation }) => organisation.name);
    });
    expect(listed.toSorted()).toEqual(['Five', 'Four', 'One', 'Three', 'Two']);
    expect(statements).toBe(2);
  });

  test('is the same one if the request is repeated soon, and another one later', async () => {
    const ada = await harness.person();
    const made = await Promise.all(Array.from({ length: 5 }, () => create(ada, 'Lab')));
    expect(new Set(made.map(({ organisation }) => organisation.id)).size).toBe(1);
    await harness.clock.advance(DUPLICATE_ORGANISATION_MS + 1);
    const later = await create(ada, 'Lab');
    expect(later.organisation.id).not.toBe(made[0]?.organisation.id);
    expect(await mine(ada)).toHaveLength(2);
  });

  test('counts against the maximum per owner, also for concurrent requests; those of other owners do not count', async () => {
    const ada = await harness.person();
    const requests = Array.from({ length: OWNED_ORGANISATIONS_MAX + 3 }, (_, index) =>
      create(ada, `Lab ${index}`),
    );
    const responses = await Promise.allSettled(requests);
    const failed = responses.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    expect(failed.map(({ reason }) => (reason as { reason: string }).reason)).toEqual([
      'ORGANISATION_LIMIT_REACHED',
      'ORGANISATION_LIMIT_REACHED',
      'ORGANISATION_LIMIT_REACHED',
    ]);
    await harness.rows(
      `update members set role = 'admin' where ctid in
        (select ctid from members where user_id = '${toUuid(ada.userId)}' limit 1)`,
    );
    expect(await create(ada, 'One more')).toMatchObject({ role: 'owner' });
  });

  test('needs a verified email address', async () => {
    const eve = await harness.person({ isVerified: false });
    await expect(create(eve, 'Lab')).rejects.toMatchObject({ reason: 'EMAIL_NOT_VERIFIED' });
    expect(await mine(eve)).toEqual([]);
  });
});
