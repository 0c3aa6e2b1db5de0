import type { PlatformRole, Role } from '@millrace/contract';
import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type OrgId, type UserId } from '@millrace/platform/ids';
import type { Selectable } from 'kysely';
import type { Member, Organisation, PageRequest, User } from './identity.ts';

/** All SQL about users and organisations. */

function toUser(row: { id: string; name: string; email: string; image: string | null }): User {
  return { id: fromUuid('usr', row.id), name: row.name, email: row.email, image: row.image };
}

function toOrganisation(
  row: Omit<Selectable<Tables['organisations']>, 'logo' | 'metadata' | 'funded_at'>,
): Organisation {
  return {
    id: fromUuid('org', row.id),
    name: row.name,
    slug: row.slug,
    homeCell: row.home_cell,
    status: row.status,
    suspendedAt: row.suspended_at,
    suspendedReason: row.suspended_reason,
    supplierSince: row.supplier_since,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** All columns except the id; the name has an alias because users have names too. */
const organisationColumns = [
  'organisations.name as org_name',
  'organisations.slug',
  'organisations.home_cell',
  'organisations.status',
  'organisations.suspended_at',
  'organisations.suspended_reason',
  'organisations.supplier_since',
  'organisations.created_at',
  'organisations.updated_at',
] as const;

const memberColumns = [
  'members.id as member_id',
  'members.org_id',
  'members.role',
  'members.created_at as member_created_at',
  'users.id',
  'users.name',
  'users.email',
  'users.image',
] as const;

interface MemberRow {
  member_id: string;
  org_id: string;
  role: Role;
  member_created_at: Date;
  id: string;
  name: string;
  email: string;
  image: string | null;
}

function toMember(row: MemberRow): Member {
  return {
    id: fromUuid('mem', row.member_id),
    orgId: fromUuid('org', row.org_id),
    user: toUser(row),
    role: row.role,
    createdAt: row.member_created_at,
  };
}

/** Finds or creates the user with this email address. Concurrent callers get the same user. */
export async function ensureUser(tx: Tx, person: { email: string; name?: string }): Promise<User> {
  const email = person.email.toLowerCase();
  const now = tx.clock.now();
  await tx.kysely
    .insertInto('users')
    .values({
      id: toUuid(tx.ids.next('usr')),
      email,
      name: person.name ?? email.slice(0, email.indexOf('@')),
      image: null,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .execute();
  const row = await tx.kysely
    .selectFrom('users')
    .select(['id', 'name', 'email', 'image'])
    .where('email', '=', email)
    .executeTakeFirstOrThrow();
  return toUser(row);
}

export async function listPlatformRoles(db: Reader, userId: UserId): Promise<readonly PlatformRole[]> {
  const rows = await db.kysely
    .selectFrom('platform_roles')
    .select('role')
    .where('user_id', '=', toUuid(userId))
    .orderBy('role')
    .execute();
  return rows.map((row) => row.role);
}

export async function grantPlatformRole(tx: Tx, userId: UserId, role: PlatformRole): Promise<void> {
  await tx.kysely
    .insertInto('platform_roles')
    .values({ user_id: toUuid(userId), role, created_at: tx.clock.now() })
    .onConflict((conflict) => conflict.columns(['user_id', 'role']).doNothing())
    .execute();
}

/** True if an operator exists, so the installation has been set up. */
export async function hasOperator(db: Reader): Promise<boolean> {
  const row = await db.kysely
    .selectFrom('platform_roles')
    .select('user_id')
    .where('role', '=', 'operator')
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

const organisations = (db: Reader) => db.kysely.selectFrom('organisations').selectAll();

export async function findOrganisation(db: Reader, id: OrgId): Promise<Organisation | null> {
  const row = await organisations(db).where('id', '=', toUuid(id)).executeTakeFirst();
  return row === undefined ? null : toOrganisation(row);
}

export async function findOrganisationBySlug(db: Reader, slug: string): Promise<Organisation | null> {
  const row = await organisations(db).where('slug', '=', slug).executeTakeFirst();
  return row === undefined ? null : toOrganisation(row);
}

/** Locks the organisation, which serializes changes of its owners, keys and status. */
export async function lockOrganisation(tx: Tx, id: OrgId): Promise<Organisation | null> {
  const row = await organisations(tx).where('id', '=', toUuid(id)).forNoKeyUpdate().executeTakeFirst();
  return row === undefined ? null : toOrganisation(row);
}

/** Null if the slug is taken. */
export async function insertOrganisation(
  tx: Tx,
  fields: { name: string; slug: string; homeCell: number },
): Promise<Organisation | null> {
  const now = tx.clock.now();
  const row = await tx.kysely
    .insertInto('organisations')
    .values({
      id: toUuid(tx.ids.next('org')),
      name: fields.name,
      slug: fields.slug,
      home_cell: fields.homeCell,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.column('slug').doNothing())
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : toOrganisation(row);
}

export async function renameOrganisation(tx: Tx, id: OrgId, name: string): Promise<Organisation> {
  const row = await tx.kysely
    .updateTable('organisations')
    .set({ name, updated_at: tx.clock.now() })
    .where('id', '=', toUuid(id))
    .returningAll()
    .executeTakeFirstOrThrow();
  return toOrganisation(row);
}

/** A null reason lifts the suspension. */
export async function setSuspension(tx: Tx, id: OrgId, reason: string | null): Promise<Organisation> {
  const now = tx.clock.now();
  const row = await tx.kysely
    .updateTable('organisations')
    .set({
      status: reason === null ? 'active' : 'suspended',
      suspended_at: reason === null ? null : now,
      suspended_reason: reason,
      updated_at: now,
    })
    .where('id', '=', toUuid(id))
    .returningAll()
    .executeTakeFirstOrThrow();
  return toOrganisation(row);
}

/** Gives owners and admins of the organisation the supplier role. Idempotent. */
export async function markSupplier(tx: Tx, id: OrgId): Promise<void> {
  await tx.kysely
    .updateTable('organisations')
    .set({ supplier_since: tx.clock.now() })
    .where('id', '=', toUuid(id))
    .where('supplier_since', 'is', null)
    .execute();
}

/** All organisations of the installation, oldest first. For operators. */
export async function listAllOrganisations(
  db: Reader,
  page: PageRequest<OrgId> & {
    readonly status: Organisation['status'] | null;
    /** A part of the name or the slug. */
    readonly search: string | null;
  },
): Promise<readonly Organisation[]> {
  let query = organisations(db);
  if (page.search !== null) {
    const like = `%${page.search.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
    query = query.where((of) => of.or([of('name', 'ilike', like), of('slug', 'ilike', like)]));
  }
  if (page.status !== null) query = query.where('status', '=', page.status);
  if (page.after !== null) query = query.where('id', '>', toUuid(page.after));
  query = query.orderBy('id').limit(page.limit + 1);
  return (await query.execute()).map(toOrganisation);
}

const members = (db: Reader) =>
  db.kysely.selectFrom('members').innerJoin('users', 'users.id', 'members.user_id').select(memberColumns);

export async function findMember(db: Reader, orgId: OrgId, userId: UserId): Promise<Member | null> {
  const row = await members(db)
    .where('members.org_id', '=', toUuid(orgId))
    .where('members.user_id', '=', toUuid(userId))
    .executeTakeFirst();
  return row === undefined ? null : toMember(row);
}

const memberships = (db: Reader, userId: UserId) =>
  members(db)
    .innerJoin('organisations', 'organisations.id', 'members.org_id')
    .select(organisationColumns)
    .where('members.user_id', '=', toUuid(userId));

type MembershipRow = MemberRow & Parameters<typeof toOrganisation>[0] & { readonly org_name: string };

const toMembership = (row: MembershipRow): { member: Member; organisation: Organisation } => ({
  member: toMember(row),
  organisation: toOrganisation({ ...row, id: row.org_id, name: row.org_name }),
});

export async function findMembership(
  db: Reader,
  orgId: OrgId,
  userId: UserId,
): Promise<{ readonly member: Member; readonly organisation: Organisation } | null> {
  const row = await memberships(db, userId).where('members.org_id', '=', toUuid(orgId)).executeTakeFirst();
  return row === undefined ? null : toMembership(row);
}

/** Memberships of a user with their organisations, by organisation id; one more than the limit, if it exists. */
export async function listMembershipsOf(
  db: Reader,
  userId: UserId,
  page: PageRequest<OrgId>,
): Promise<readonly { readonly member: Member; readonly organisation: Organisation }[]> {
  let query = memberships(db, userId);
  if (page.after !== null) query = query.where('members.org_id', '>', toUuid(page.after));
  query = query.orderBy('members.org_id').limit(page.limit + 1);
  return (await query.execute()).map(toMembership);
}

/** Members, oldest membership first. */
export async function listMembers(
  db: Reader,
  orgId: OrgId,
  page: PageRequest<Member['id']>,
): Promise<readonly Member[]> {
  let query = members(db).where('members.org_id', '=', toUuid(orgId));
  if (page.after !== null) query = query.where('members.id', '>', toUuid(page.after));
  query = query.orderBy('members.id').limit(page.limit + 1);
  return (await query.execute()).map(toMember);
}

/** Null if the user is already a member. */
export async function insertMember(
  tx: Tx,
  orgId: OrgId,
  fields: { user: User; role: Role },
): Promise<Member | null> {
  const row = await tx.kysely
    .insertInto('members')
    .values({
      id: toUuid(tx.ids.next('mem')),
      org_id: toUuid(orgId),
      user_id: toUuid(fields.user.id),
      role: fields.role,
      created_at: tx.clock.now(),
    })
    .onConflict((conflict) => conflict.columns(['org_id', 'user_id']).doNothing())
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) return null;
  return { id: fromUuid('mem', row.id), orgId, user: fields.user, role: row.role, createdAt: row.created_at };
}

export async function setRole(tx: Tx, orgId: OrgId, userId: UserId, role: Role): Promise<void> {
  await tx.kysely
    .updateTable('members')
    .set({ role })
    .where('org_id', '=', toUuid(orgId))
    .where('user_id', '=', toUuid(userId))
    .execute();
}

export async function deleteMember(tx: Tx, orgId: OrgId, userId: UserId): Promise<void> {
  await tx.kysely
    .deleteFrom('members')
    .where('org_id', '=', toUuid(orgId))
    .where('user_id', '=', toUuid(userId))
    .execute();
}

/** The owner with the oldest membership; null if the organisation has no owner. */
export async function findOldestOwner(db: Reader, orgId: OrgId): Promise<User | null> {
  const row = await members(db)
    .where('members.org_id', '=', toUuid(orgId))
    .where('members.role', '=', 'owner')
    .orderBy('members.id')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? null : toMember(row).user;
}

/** Reliable only while the caller holds the lock on the organisation. */
export async function countOwners(tx: Tx, orgId: OrgId): Promise<number> {
  const rows = await tx.kysely
    .selectFrom('members')
    .select('id')
    .where('org_id', '=', toUuid(orgId))
    .where('role', '=', 'owner')
    .execute();
  return rows.length;
}
