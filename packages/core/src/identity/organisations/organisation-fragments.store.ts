import type { Role } from '@millrace/contract';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import { sql, type RawBuilder } from 'kysely';

/** SQL about organisations and users that other features compose with their own tables. `column` has the id of the row. */

export function organisationName(column: string): RawBuilder<string> {
  return sql<string>`(select name from organisations where organisations.id = ${sql.ref(column)})`;
}

export function organisationStatus(column: string): RawBuilder<'active' | 'suspended'> {
  return sql<
    'active' | 'suspended'
  >`(select status from organisations where organisations.id = ${sql.ref(column)})`;
}

export function supplierSince(column: string): RawBuilder<Date | null> {
  return sql<Date | null>`(select supplier_since from organisations where organisations.id = ${sql.ref(column)})`;
}

/** At most one row. Columns: id, name. */
export function organisationById(orgId: OrgId): RawBuilder<unknown> {
  return sql`(select id, name from organisations where organisations.id = ${toUuid(orgId)})`;
}

/** The next organisations by id. Column: id. */
export function organisationsAfter(after: OrgId | null, limit: number): RawBuilder<unknown> {
  const isAfter = after === null ? sql`true` : sql`organisations.id > ${toUuid(after)}`;
  return sql`(select id from organisations where ${isAfter} order by id limit ${limit})`;
}

export function userName(column: string): RawBuilder<string> {
  return sql<string>`(select name from users where users.id = ${sql.ref(column)})`;
}

export function userEmail(column: string): RawBuilder<string> {
  return sql<string>`(select email from users where users.id = ${sql.ref(column)})`;
}

/** User profiles, as text for a prepared statement. Columns: id, name, email, image. */
export const userProfilesText = '(select id, name, email, image from users)';

/** Columns: id, org_id, user_id, role. */
export function membersOf(orgId: OrgId): RawBuilder<unknown> {
  return sql`(select id, org_id, user_id, role from members where members.org_id = ${toUuid(orgId)})`;
}

/** Null without a membership. */
export function memberRole(of: { readonly org: string; readonly user: string }): RawBuilder<Role | null> {
  return sql<Role | null>`(select role from members
     where members.org_id = ${sql.ref(of.org)} and members.user_id = ${sql.ref(of.user)})`;
}
