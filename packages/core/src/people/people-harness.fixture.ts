import type { Role } from '@millrace/contract';
import type { SimulatedClock } from '@millrace/platform/clock';
import { createDb, type Db, type Tx } from '@millrace/platform/db';
import { createIdSource, toUuid, type OrgId, type UserId } from '@millrace/platform/ids';
import {
  addMember,
  createOrganisation,
  createTestDatabase,
  createUser,
  hybridClock,
  longDbTimeouts,
  testClock,
  testLog,
  uniqueId,
} from '@millrace/testing';
import {
  issueUnrestrictedKey,
  systemAuditContext,
  type AuditContext,
  type CallContext,
} from '../identity/index.ts';

/** Test harness with a real database and a clock that the test advances. */
export interface PeopleHarness {
  readonly db: Db;
  readonly clock: SimulatedClock;
  /** A user, by default with a verified email address. */
  person(options?: { readonly isVerified?: boolean }): Promise<TestPerson>;
  organisation(): Promise<OrgId>;
  /** A member with a key that has all scopes of the role. */
  member(orgId: OrgId, role: Role): Promise<TestPerson & { readonly call: CallContext }>;
  inTx<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  rows<Row>(text: string): Promise<Row[]>;
  close(): Promise<void>;
}

export interface TestPerson {
  readonly userId: UserId;
  readonly email: string;
  readonly cause: AuditContext;
}

export async function openPeopleHarness(): Promise<PeopleHarness> {
  const database = await createTestDatabase();
  const client = await database.connect();
  const clock = testClock();
  const ids = createIdSource({ clock, cell: 1 });
  const db = createDb({
    ...longDbTimeouts,
    ...{ url: database.url, poolSize: 8, clock: hybridClock(clock), ids, log: testLog('people') },
  });
  const rows: PeopleHarness['rows'] = async <Row>(text: string) => (await client.query(text)).rows as Row[];
  const inTx: PeopleHarness['inTx'] = (work) =>
    db.transaction({ name: 'test', isolation: 'read committed' }, work);
  const person: PeopleHarness['person'] = async ({ isVerified = true } = {}) => {
    const email = `ada-${uniqueId()}@example.com`;
    const userId = await createUser(db, { email });
    await rows(`update users set email_verified = ${String(isVerified)} where id = '${toUuid(userId)}'`);
    const actor = { kind: 'user', id: userId } as const;
    return { userId, email, cause: { actor, mode: 'live', requestId: null, ip: null } };
  };
  return {
    db,
    clock,
    rows,
    inTx,
    person,
    organisation: () => createOrganisation(db, { name: 'Acme' }),
    member: async (orgId, role) => {
      const someone = await person();
      await addMember(db, orgId, someone.userId, role);
      const user = { id: someone.userId, name: 'Ada Tester', email: someone.email, image: null };
      const { key } = await inTx((tx) =>
        issueUnrestrictedKey(tx, systemAuditContext('test', 'live'), {
          orgId,
          user,
          mode: 'live',
          name: 'test',
        }),
      );
      return { ...someone, call: { orgId, keyId: key.id, cause: someone.cause } };
    },
    close: async () => {
      await Promise.all([client.end(), db.close()]);
      await database.drop();
    },
  };
}
