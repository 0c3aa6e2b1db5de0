import type { Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type OrgId, type UserId } from '@millrace/platform/ids';

/** All SQL about one user, independent of organisations. */

export interface PersonRecord {
  readonly userId: UserId;
  readonly name: string;
  readonly email: string;
  readonly emailVerified: boolean;
}

/** Serializes requests of one user that are counted, or that must not run while the user is deleted. */
export async function lockPerson(tx: Tx, userId: UserId): Promise<PersonRecord | null> {
  const row = await tx.kysely
    .selectFrom('users')
    .select(['id', 'name', 'email', 'email_verified'])
    .where('id', '=', toUuid(userId))
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (row === undefined) return null;
  return { userId, name: row.name, email: row.email, emailVerified: row.email_verified };
}

export interface OwnedOrganisation {
  readonly id: OrgId;
  readonly name: string;
  readonly createdAt: Date;
}

export async function listOwnedOrganisations(tx: Tx, userId: UserId): Promise<readonly OwnedOrganisation[]> {
  const rows = await tx.kysely
    .selectFrom('members')
    .innerJoin('organisations', 'organisations.id', 'members.org_id')
    .select(['organisations.id', 'organisations.name', 'organisations.created_at'])
    .where('members.user_id', '=', toUuid(userId))
    .where('members.role', '=', 'owner')
    .execute();
  return rows.map((row) => ({ id: fromUuid('org', row.id), name: row.name, createdAt: row.created_at }));
}

export async function isMemberByEmail(tx: Tx, orgId: OrgId, email: string): Promise<boolean> {
  const row = await tx.kysely
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .select('members.id')
    .where('members.org_id', '=', toUuid(orgId))
    .where('users.email', '=', email)
    .executeTakeFirst();
  return row !== undefined;
}
