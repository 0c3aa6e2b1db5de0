import { roles, scopeNames, type PlatformRole, type Role, type Scope } from '@millrace/contract';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import type { Principal } from '@millrace/platform/http';
import { createIdSource, toUuid, type KeyId, type OrgId, type UserId } from '@millrace/platform/ids';
import { uniqueId } from '../names.ts';

/** The real id source, in a cell that is not the default, to reveal code that ignores the cell. */
export const testIds = createIdSource({ clock: systemClock, cell: 1 });

export async function createUser(db: Db, fields: { name?: string; email?: string } = {}): Promise<UserId> {
  const id = testIds.next('usr');
  await db.kysely
    .insertInto('users')
    .values({
      id: toUuid(id),
      name: fields.name ?? 'Ada Tester',
      email: fields.email ?? `ada-${uniqueId()}@example.com`,
    })
    .execute();
  return id;
}

export async function createOrganisation(
  db: Db,
  fields: { name?: string; slug?: string; homeCell?: number } = {},
): Promise<OrgId> {
  const id = testIds.next('org');
  await db.kysely
    .insertInto('organisations')
    .values({
      id: toUuid(id),
      name: fields.name ?? 'Example',
      slug: fields.slug ?? `example-${uniqueId()}`,
      home_cell: fields.homeCell ?? 1,
    })
    .execute();
  return id;
}

export async function addMember(db: Db, orgId: OrgId, userId: UserId, role: Role = 'owner'): Promise<void> {
  await db.kysely
    .insertInto('members')
    .values({ id: toUuid(testIds.next('mem')), org_id: toUuid(orgId), user_id: toUuid(userId), role })
    .execute();
}

/** An organisation and its owner. */
export async function createTenant(db: Db): Promise<{ orgId: OrgId; ownerId: UserId }> {
  const orgId = await createOrganisation(db);
  const ownerId = await createUser(db);
  await addMember(db, orgId, ownerId, 'owner');
  return { orgId, ownerId };
}

export interface PrincipalFields {
  readonly orgId?: OrgId;
  readonly userId?: UserId;
  readonly keyId?: KeyId;
  readonly mode?: Mode;
  /** Scopes by name, or those of a role; an owner's by default. */
  readonly scopes?: readonly Scope[] | Role;
  readonly platformRoles?: readonly PlatformRole[];
}

/** A principal without an API key, for handlers and services tested below the HTTP server. */
export function principal(fields: PrincipalFields = {}): Principal {
  const scopes = fields.scopes ?? 'owner';
  return {
    kind: 'key',
    keyId: fields.keyId ?? testIds.next('key'),
    orgId: fields.orgId ?? testIds.next('org'),
    userId: fields.userId ?? testIds.next('usr'),
    mode: fields.mode ?? 'live',
    scopes: new Set(typeof scopes === 'string' ? roles[scopes] : scopes),
    platformRoles: new Set(fields.platformRoles ?? []),
    limits: { organisationRpm: 600, keyRpm: null },
    orgStatus: 'active',
    orgFunded: true,
  };
}

/** A principal with all scopes and platform roles. */
export function fullAccessPrincipal(fields: PrincipalFields = {}): Principal {
  return principal({ ...fields, scopes: scopeNames, platformRoles: ['operator', 'supplier'] });
}
