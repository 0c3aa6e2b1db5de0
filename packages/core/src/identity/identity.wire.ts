import type { ResponseBody, Contract, Query } from '@millrace/contract';
import type { Principal, StoredOperation } from '@millrace/platform/http';
import { zeroUsd, type NanoUsd } from '@millrace/platform/money';
import { keyPrefix } from './model/api-key.ts';
import type { AuditLogFilter } from './model/audit.store.ts';
import type { ApiKey, AuditEntry, Member, Organisation } from './model/identity.ts';

/** Converts values of this feature to API responses. */

type Operations = Contract['operations'];
type ItemOf<Page> = Page extends { items: (infer Item)[] } ? Item : never;

export type WireKey = ResponseBody<Operations['getApiKey']>;
export type WireOrganisation = ResponseBody<Operations['getOrganisation']>;
export type WireAdminOrganisation = ItemOf<ResponseBody<Operations['adminListOrganisations']>>;
export type WireMember = ResponseBody<Operations['updateMember']>;
export type WireAuditEntry = ItemOf<ResponseBody<Operations['listAuditLog']>>;
export type WireOperation = ResponseBody<Operations['getOperation']>;
export type WireMe = ResponseBody<Operations['getMe']>;

export function toWireKey(key: ApiKey): WireKey {
  return {
    id: key.id,
    publicId: key.publicId,
    prefix: keyPrefix(key.mode, key.publicId),
    name: key.name,
    mode: key.mode,
    scopes: [...key.scopes],
    limits: key.limits,
    allowedIps: [...key.allowedIps],
    createdBy: key.userId,
    createdAt: key.createdAt.toISOString(),
    expiresAt: isoOrNull(key.expiresAt),
    lastUsedAt: isoOrNull(key.lastUsedAt),
    revokedAt: isoOrNull(key.revokedAt),
    rotatedFrom: key.rotatedFrom,
  };
}

export function toWireOrganisation(organisation: Organisation): WireOrganisation {
  return {
    id: organisation.id,
    name: organisation.name,
    slug: organisation.slug,
    status: organisation.status,
    createdAt: organisation.createdAt.toISOString(),
    updatedAt: organisation.updatedAt.toISOString(),
  };
}

export function toWireAdminOrganisation(
  organisation: Organisation,
  balance: NanoUsd | undefined,
): WireAdminOrganisation {
  return {
    ...toWireOrganisation(organisation),
    homeCell: organisation.homeCell,
    suspendedAt: isoOrNull(organisation.suspendedAt),
    suspendedReason: organisation.suspendedReason,
    balanceNanoUsd: (balance ?? zeroUsd).toString(),
  };
}

export function toWireMember(member: Member): WireMember {
  return {
    id: member.id,
    organisationId: member.orgId,
    userId: member.user.id,
    role: member.role,
    email: member.user.email,
    name: member.user.name,
    picture: member.user.image,
    createdAt: member.createdAt.toISOString(),
  };
}

export function toWireMe(principal: Principal, key: ApiKey, org: Organisation, member: Member): WireMe {
  const { user } = member;
  return {
    user: { id: user.id, email: user.email, name: user.name, picture: user.image },
    organisation: toWireOrganisation(org),
    role: member.role,
    platformRoles: [...principal.platformRoles],
    mode: principal.mode,
    scopes: [...principal.scopes],
    key: key.kind === 'seat' ? null : toWireMeKey(key),
  };
}

function toWireMeKey(key: ApiKey): WireMe['key'] {
  return {
    id: key.id,
    publicId: key.publicId,
    prefix: keyPrefix(key.mode, key.publicId),
    name: key.name,
    expiresAt: isoOrNull(key.expiresAt),
    limits: key.limits,
    allowedIps: [...key.allowedIps],
  };
}

/** `forTenant` leaves out the origin of an operator's request. */
export function toWireAudit(entry: AuditEntry, forTenant: boolean): WireAuditEntry {
  return {
    id: entry.id,
    organisationId: entry.orgId,
    occurredAt: entry.occurredAt.toISOString(),
    action: entry.action,
    actor: entry.actor,
    resource: entry.resource,
    requestId: entry.requestId,
    ip: forTenant && entry.actor.kind === 'operator' ? null : entry.ip,
    reason: entry.reason,
    details: {
      ...(entry.before === null ? {} : { before: entry.before }),
      ...(entry.after === null ? {} : { after: entry.after }),
    },
  };
}

/** The filter that tenants and operators share. */
export function auditFilterOf(query: Query<Contract['operations']['listAuditLog']>): AuditLogFilter {
  const { action = null, actorId = null, resourceId = null, from, until } = query;
  return {
    action,
    actorId,
    resourceId,
    from: from === undefined ? null : new Date(from),
    until: until === undefined ? null : new Date(until),
  };
}

/** Null while the transaction of the operation is open, which no other transaction can see. */
export function toWireOperation(operation: StoredOperation): WireOperation | null {
  if (operation.status === null) return null;
  return {
    id: operation.id,
    idempotencyKey: operation.idempotencyKey,
    operationId: operation.operation,
    // All operations so far are complete when their transaction is.
    status: 'succeeded',
    httpStatus: operation.status,
    resource: operation.resource,
    createdAt: operation.createdAt.toISOString(),
    expiresAt: operation.expiresAt.toISOString(),
  };
}

function isoOrNull(at: Date | null): string | null {
  return at === null ? null : at.toISOString();
}
