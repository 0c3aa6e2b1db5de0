import type { ApiKeyLimits, PlatformRole, Role, Scope } from '@millrace/contract';
import type { Actor } from '@millrace/platform/http';
import type { AuditId, KeyId, MemberId, OrgId, RequestId, SshKeyId, UserId } from '@millrace/platform/ids';
import type { KeyMode } from './api-key.ts';

/** Values of this feature: stores convert rows to them, routes convert them to responses. */

export interface User {
  readonly id: UserId;
  readonly name: string;
  readonly email: string;
  readonly image: string | null;
}

export interface Organisation {
  readonly id: OrgId;
  readonly name: string;
  readonly slug: string;
  readonly homeCell: number;
  readonly status: 'active' | 'suspended';
  readonly suspendedAt: Date | null;
  readonly suspendedReason: string | null;
  /** Since when its owners and admins have the supplier role; null if the organisation is not a supplier. */
  readonly supplierSince: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface TenantRef {
  readonly orgId: OrgId;
  readonly mode: KeyMode;
}

export interface Member {
  readonly id: MemberId;
  readonly orgId: OrgId;
  readonly user: User;
  readonly role: Role;
  readonly createdAt: Date;
}

export type RevocationReason = 'revoked' | 'rotated' | 'expired' | 'member_removed';

export interface ApiKey {
  readonly id: KeyId;
  /** `seat`: the member key of a signed-in member. */
  readonly kind: 'key' | 'seat';
  readonly publicId: string;
  readonly orgId: OrgId;
  readonly userId: UserId;
  readonly mode: KeyMode;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly limits: ApiKeyLimits;
  readonly allowedIps: readonly string[];
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly revokedReason: RevocationReason | null;
  readonly rotatedFrom: KeyId | null;
  readonly lastUsedAt: Date | null;
  readonly createdAt: Date;
}

/** The calling key and its user as read inside the transaction. */
export interface Caller {
  readonly key: ApiKey;
  readonly role: Role;
  readonly platformRoles: readonly PlatformRole[];
}

export interface SshKeyRecord {
  readonly id: SshKeyId;
  readonly name: string;
  readonly algorithm: string;
  readonly publicKey: string;
  readonly fingerprint: string;
  readonly createdAt: Date;
}

export interface AuditEntry {
  readonly id: AuditId;
  readonly orgId: OrgId | null;
  readonly actor: Actor;
  readonly action: string;
  readonly resource: { readonly kind: string; readonly id: string };
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
  readonly reason: string | null;
  readonly requestId: RequestId | null;
  readonly ip: string | null;
  readonly occurredAt: Date;
}

/** The actor and origin of a change. Every use case requires one, so that every change has an actor. */
export interface AuditContext {
  readonly actor: Actor;
  readonly mode: KeyMode;
  readonly requestId: RequestId | null;
  readonly ip: string | null;
  /** The requester's reason; a change may have a more specific one. */
  readonly reason?: string | undefined;
}

/** For changes by the platform itself, such as a sweep. */
export function systemAuditContext(name: string, mode: KeyMode): AuditContext {
  return { actor: { kind: 'system', id: name }, mode, requestId: null, ip: null };
}

/** Start and size of a page; stores read one more row to know whether another page exists. */
export interface PageRequest<Position> {
  readonly limit: number;
  readonly after: Position | null;
}
