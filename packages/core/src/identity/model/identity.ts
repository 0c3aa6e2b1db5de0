import type { ApiKeyLimits, PlatformRole, Role, Scope } from '@millrace/contract';
import type { Actor } from '@millrace/platform/http';
import type { AuditId, KeyId, MemberId, OrgId, RequestId, SshKeyId, UserId } from '@millrace/platform/ids';
import type { KeyMode } from './api-key.ts';

/** The words of this feature as values. Stores turn rows into these, routes turn these into answers. */

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
  /** Since when its owners and admins act as suppliers; null: it supplies nothing. */
  readonly supplierSince: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** An organisation and the mode in which it is asked about. */
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
  /** `seat`: no key, but what a member does when signed in. */
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

/** The key that calls, with the person behind it, as they stand inside the transaction. */
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

/** Who caused a change, and through what. Every use-case takes one: there is no change without an author. */
export interface AuditContext {
  readonly actor: Actor;
  readonly mode: KeyMode;
  readonly requestId: RequestId | null;
  readonly ip: string | null;
  /** Why, in the words of whoever asked; what is changed may say it better. */
  readonly reason?: string | undefined;
}

/** A part of the platform acting by itself, such as a sweep. */
export function systemAuditContext(name: string, mode: KeyMode): AuditContext {
  return { actor: { kind: 'system', id: name }, mode, requestId: null, ip: null };
}

/** Where a page of a list begins and how long it is; stores read one row more to know whether there is another. */
export interface PageRequest<Position> {
  readonly limit: number;
  readonly after: Position | null;
}
