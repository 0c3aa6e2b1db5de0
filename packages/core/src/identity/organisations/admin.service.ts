import type { Role } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { OrgId } from '@millrace/platform/ids';
import { grantableScopes, platformRolesIn } from '../model/key-rights.ts';
import type { KeyMode } from '../model/api-key.ts';
import { issueKey, type IssuedKey } from '../keys/api-keys.service.ts';
import { unlimitedKeyLimits } from '../model/api-keys.store.ts';
import { appendAuditEntry } from '../model/audit.store.ts';
import type { AuditContext, Member, Organisation, User } from '../model/identity.ts';
import type { PublishKeyChange } from '../keys/key-changes.ts';
import {
  ensureUser,
  findMembership,
  grantPlatformRole,
  hasOperator,
  insertMember,
  insertOrganisation,
  listPlatformRoles,
  lockOrganisation,
  setSuspension,
} from '../model/organisations.store.ts';

/** Use cases of the operator, by API or by the millrace-admin command. */

export interface NewPerson {
  readonly email: string;
  readonly name?: string;
}

export interface NewOrganisation {
  readonly name: string;
  /** Default: made from the name, with a suffix if it is taken. */
  readonly slug?: string;
  readonly homeCell: number;
  readonly owner: NewPerson;
}

const SLUG_ATTEMPTS = 50;

export async function createOrganisation(
  tx: Tx,
  cause: AuditContext,
  request: NewOrganisation,
): Promise<{ readonly organisation: Organisation; readonly owner: User }> {
  const organisation = await insertWithSlug(tx, request);
  const owner = await ensureUser(tx, request.owner);
  await insertMember(tx, organisation.id, { user: owner, role: 'owner' });
  await appendAuditEntry(tx, organisation.id, cause, {
    action: 'organisation.created',
    resource: { kind: 'organisation', id: organisation.id },
    after: {
      name: organisation.name,
      slug: organisation.slug,
      ownerId: owner.id,
      homeCell: request.homeCell,
    },
  });
  return { organisation, owner };
}

export async function addMember(
  tx: Tx,
  cause: AuditContext,
  orgId: OrgId,
  request: NewPerson & { readonly role: Role },
): Promise<Member> {
  if ((await lockOrganisation(tx, orgId)) === null) throw new Fault('ORGANISATION_NOT_FOUND');
  const user = await ensureUser(tx, request);
  const member = await insertMember(tx, orgId, { user, role: request.role });
  if (member === null) throw new Fault('MEMBER_EXISTS');
  await appendAuditEntry(tx, orgId, cause, {
    action: 'member.added',
    resource: { kind: 'member', id: member.id },
    after: { userId: user.id, email: user.email, role: member.role },
  });
  return member;
}

/** The running resources of an organisation, which a suspension can end. */
export interface RunningWorkloads {
  /** Requests the end of all of them. Returns how many requests are new. */
  end(tx: Tx, orgId: OrgId): Promise<number>;
  /** Cancels requested ends that have not started: a later suspension may keep the resources. */
  callOff(tx: Tx, orgId: OrgId): Promise<void>;
}

/** Suspends or resumes. Idempotent, but a second suspension can end resources that the first one kept. */
export async function setOrganisationStatus(
  tx: Tx,
  deps: { readonly announce: PublishKeyChange; readonly work: RunningWorkloads },
  cause: AuditContext,
  orgId: OrgId,
  request: {
    readonly status: Organisation['status'];
    readonly reason: string;
    readonly runningWork?: 'keep' | 'stop';
  },
): Promise<Organisation> {
  const before = await lockOrganisation(tx, orgId);
  if (before === null) throw new Fault('ORGANISATION_NOT_FOUND');
  if (request.status === 'active') await deps.work.callOff(tx, orgId);
  const ended = request.runningWork === 'stop' ? await deps.work.end(tx, orgId) : 0;
  const isRepeat = before.status === request.status;
  if (isRepeat && ended === 0) return before;
  const suspension = request.status === 'suspended' ? request.reason : null;
  const after = isRepeat ? before : await setSuspension(tx, orgId, suspension);
  await appendAuditEntry(tx, orgId, cause, {
    action: request.status === 'suspended' ? 'organisation.suspended' : 'organisation.resumed',
    resource: { kind: 'organisation', id: orgId },
    before: { status: before.status },
    after: {
      status: after.status,
      ...(request.runningWork === undefined ? {} : { runningWork: request.runningWork, ended }),
    },
    reason: request.reason,
  });
  tx.afterCommit(() => deps.announce({ kind: 'organisation', orgId }));
  return after;
}

/** A key with every right that its user can grant in that mode. For the command line of the operator. */
export async function issueUnrestrictedKey(
  tx: Tx,
  cause: AuditContext,
  request: { readonly orgId: OrgId; readonly user: User; readonly mode: KeyMode; readonly name: string },
): Promise<IssuedKey> {
  const membership = await findMembership(tx, request.orgId, request.user.id);
  if (membership === null) throw new Fault('MEMBER_NOT_FOUND');
  const { role } = membership.member;
  const supplies = membership.organisation.supplierSince !== null;
  const platformRoles = platformRolesIn(await listPlatformRoles(tx, request.user.id), { role, supplies });
  const scopes = grantableScopes(role, platformRoles, request.mode);
  const rights = { mode: request.mode, scopes, limits: unlimitedKeyLimits, allowedIps: [], expiresAt: null };
  return issueKey(tx, cause, { orgId: request.orgId, userId: request.user.id, name: request.name, rights });
}

/**
 * Sets up an installation: its first operator, their organisation and a key. Null if an operator exists. Run it in a
 * serializable transaction, so that concurrent calls create one operator.
 */
export async function bootstrapInstallation(
  tx: Tx,
  cause: AuditContext,
  request: NewOrganisation,
): Promise<{ readonly organisation: Organisation; readonly owner: User; readonly issued: IssuedKey } | null> {
  if (await hasOperator(tx)) return null;
  const { organisation, owner } = await createOrganisation(tx, cause, request);
  await grantPlatformRole(tx, owner.id, 'operator');
  await appendAuditEntry(tx, null, cause, {
    action: 'platform_role.granted',
    resource: { kind: 'user', id: owner.id },
    after: { role: 'operator' },
  });
  const issued = await issueUnrestrictedKey(tx, cause, {
    orgId: organisation.id,
    user: owner,
    mode: 'live',
    name: 'first operator key',
  });
  return { organisation, owner, issued };
}

async function insertWithSlug(tx: Tx, request: NewOrganisation): Promise<Organisation> {
  const { name, homeCell } = request;
  if (request.slug !== undefined) {
    const inserted = await insertOrganisation(tx, { name, slug: request.slug, homeCell });
    if (inserted === null) throw new Fault('ORGANISATION_SLUG_TAKEN');
    return inserted;
  }
  const base = slugOf(name);
  for (let attempt = 1; attempt <= SLUG_ATTEMPTS; attempt++) {
    const slug = attempt === 1 ? base : `${base.slice(0, 58)}-${String(attempt)}`;
    const inserted = await insertOrganisation(tx, { name, slug, homeCell });
    if (inserted !== null) return inserted;
  }
  throw new Fault('ORGANISATION_SLUG_TAKEN', {
    message: 'All slugs that can be made from this name are taken.',
    suggestion: 'Choose a slug and send it with the request.',
  });
}

/** A name for addresses: lower-case letters, digits and single inner hyphens, at most 63. */
export function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-+|(?<!-)-+$/g, '');
  return slug === '' ? 'organisation' : slug;
}
