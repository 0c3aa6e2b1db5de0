import type { Db, Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { OrgId, UserId } from '@millrace/platform/ids';
import {
  createOrganisation,
  findMembership,
  listPlatformRoles,
  platformRolesIn,
  type Cause,
} from '../identity/index.ts';
import {
  OWNED_ORGANISATIONS_MAX,
  SAME_ORGANISATION_MS,
  type KnownPerson,
  type Membership,
} from './people.ts';
import { listOrganisationIds, listOwned, lockPerson } from './people.store.ts';

/** The organisations of a person. */

/**
 * Makes an organisation that the person owns. People carry no key by which a repeat could be told, so one of the same name
 * that they made a moment ago is taken for the answer that was lost. Their own requests take turns: neither ten at once nor
 * two of one name get past the counts.
 */
export async function createOwnOrganisation(
  tx: Tx,
  cause: Cause,
  userId: UserId,
  wish: { readonly name: string; readonly homeCell: number },
): Promise<Membership> {
  const person = requireReachable(await lockPerson(tx, userId));
  const owned = await listOwned(tx, userId);
  const since = tx.clock.nowMs() - SAME_ORGANISATION_MS;
  const same = owned.find(({ name, createdAt }) => name === wish.name && createdAt.getTime() > since);
  if (same !== undefined) return requireMembership(tx, same.id, userId);
  if (owned.length >= OWNED_ORGANISATIONS_MAX) throw new Fault('ORGANISATION_LIMIT_REACHED');
  const { organisation } = await createOrganisation(tx, cause, {
    ...wish,
    owner: { email: person.email, name: person.name },
  });
  return requireMembership(tx, organisation.id, userId);
}

/** Who is invited, and who makes organisations, must be the one who reads that mailbox. */
export function requireReachable(person: KnownPerson | null): KnownPerson {
  if (person === null) throw new Fault('SESSION_ENDED');
  if (!person.emailVerified) throw new Fault('EMAIL_NOT_VERIFIED');
  return person;
}

/** One more than the limit, if there is one. */
export async function listMemberships(
  db: Db,
  userId: UserId,
  page: { readonly limit: number; readonly after: OrgId | null },
): Promise<readonly Membership[]> {
  const ids = await listOrganisationIds(db, userId, page);
  const memberships = await Promise.all(ids.map((orgId) => readMembership(db, orgId, userId)));
  // Whoever was removed from one in between is not shown it.
  return memberships.filter((membership) => membership !== null);
}

export async function readMembership(
  reader: Db | Tx,
  orgId: OrgId,
  userId: UserId,
): Promise<Membership | null> {
  const found = await findMembership(reader, orgId, userId);
  if (found === null) return null;
  const { organisation, member } = found;
  const supplies = organisation.supplierSince !== null;
  const own = await listPlatformRoles(reader, userId);
  return {
    organisation,
    role: member.role,
    platformRoles: platformRolesIn(own, { role: member.role, supplies }),
  };
}

export async function requireMembership(tx: Tx, orgId: OrgId, userId: UserId): Promise<Membership> {
  const membership = await readMembership(tx, orgId, userId);
  if (membership === null) throw new Fault('NOT_A_MEMBER');
  return membership;
}
