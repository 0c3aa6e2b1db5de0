import type { PlatformRole } from '@millrace/contract';
import type { Db, Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { OrgId, UserId } from '@millrace/platform/ids';
import {
  createOrganisation,
  findMembership,
  listMembershipsOf,
  listOwnedOrganisations,
  listPlatformRoles,
  lockPerson,
  platformRolesIn,
  type AuditContext,
  type PersonRecord,
} from '../identity/index.ts';
import { OWNED_ORGANISATIONS_MAX, DUPLICATE_ORGANISATION_MS, type Membership } from './people.ts';

/** Organisations that users create for themselves. */

/**
 * Creates an organisation that the user owns. Sessions have no idempotency key, so the same name within a few minutes returns the
 * existing organisation. The user's row is locked, so that concurrent requests cannot exceed the limits.
 */
export async function createOwnOrganisation(
  tx: Tx,
  cause: AuditContext,
  userId: UserId,
  request: { readonly name: string; readonly homeCell: number; readonly mustVerifyEmail: boolean },
): Promise<Membership> {
  const locked = await lockPerson(tx, userId);
  const person = request.mustVerifyEmail ? requireVerifiedEmail(locked) : requirePersonRecord(locked);
  const owned = await listOwnedOrganisations(tx, userId);
  const since = tx.clock.nowMs() - DUPLICATE_ORGANISATION_MS;
  const same = owned.find(({ name, createdAt }) => name === request.name && createdAt.getTime() > since);
  if (same !== undefined) return requireMembership(tx, same.id, userId);
  if (owned.length >= OWNED_ORGANISATIONS_MAX) throw new Fault('ORGANISATION_LIMIT_REACHED');
  const { organisation } = await createOrganisation(tx, cause, {
    name: request.name,
    homeCell: request.homeCell,
    owner: { email: person.email, name: person.name },
  });
  return requireMembership(tx, organisation.id, userId);
}

export function requirePersonRecord(person: PersonRecord | null): PersonRecord {
  if (person === null) throw new Fault('SESSION_ENDED');
  return person;
}

/** In an installation with email, creating an organisation and answering an invitation need a verified address. */
export function requireVerifiedEmail(found: PersonRecord | null): PersonRecord {
  const person = requirePersonRecord(found);
  if (!person.emailVerified) throw new Fault('EMAIL_NOT_VERIFIED');
  return person;
}

/** One more than the limit, if it exists. */
export async function listMemberships(
  db: Db,
  userId: UserId,
  page: { readonly limit: number; readonly after: OrgId | null },
): Promise<readonly Membership[]> {
  const [found, own] = await Promise.all([
    listMembershipsOf(db, userId, page),
    listPlatformRoles(db, userId),
  ]);
  return found.map((each) => membershipOf(each, own));
}

export async function readMembership(db: Db | Tx, orgId: OrgId, userId: UserId): Promise<Membership | null> {
  const found = await findMembership(db, orgId, userId);
  if (found === null) return null;
  return membershipOf(found, await listPlatformRoles(db, userId));
}

function membershipOf(
  { organisation, member }: NonNullable<Awaited<ReturnType<typeof findMembership>>>,
  own: readonly PlatformRole[],
): Membership {
  const supplies = organisation.supplierSince !== null;
  const { role } = member;
  return { organisation, role, platformRoles: platformRolesIn(own, { role, supplies }) };
}

export async function requireMembership(tx: Tx, orgId: OrgId, userId: UserId): Promise<Membership> {
  const membership = await readMembership(tx, orgId, userId);
  if (membership === null) throw new Fault('NOT_A_MEMBER');
  return membership;
}
