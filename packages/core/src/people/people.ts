import type { PlatformRole, Role } from '@millrace/contract';
import type { InvitationId, OrgId, UserId } from '@millrace/platform/ids';
import type { Organisation } from '../identity/index.ts';

/** Values and limits of this feature. */

export interface Membership {
  readonly organisation: Organisation;
  readonly role: Role;
  readonly platformRoles: readonly PlatformRole[];
}

export type InvitationStatus = 'pending' | 'accepted' | 'rejected' | 'canceled';

export interface Invitation {
  readonly id: InvitationId;
  readonly orgId: OrgId;
  readonly orgName: string;
  readonly email: string;
  readonly role: Role;
  readonly status: InvitationStatus;
  readonly inviter: { readonly id: UserId; readonly name: string; readonly email: string };
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

const DAY_MS = 86_400_000;

/** How long an invitation can be accepted. */
export const INVITATION_TTL_MS = 7 * DAY_MS;
/** Open at once in one organisation, without expired ones. */
export const PENDING_INVITATIONS_MAX = 100;
/** Created in one organisation per day, whatever their outcome: each sends an email that the recipient did not request. */
export const INVITATIONS_PER_DAY = 200;
/** To one address per day, from all organisations. Further invitations are created without an email. */
export const INVITATION_EMAILS_PER_DAY = 5;
export const OWNED_ORGANISATIONS_MAX = 10;
/** The same user and name within this time mean the same organisation. */
export const DUPLICATE_ORGANISATION_MS = 10 * 60_000;

export function daysBefore(now: Date, days: number): Date {
  return new Date(now.getTime() - days * DAY_MS);
}

/** Expiry needs no stored change: it follows from the clock. */
export function isInvitationOpen(
  { status, expiresAt }: Pick<Invitation, 'status' | 'expiresAt'>,
  now: Date,
): boolean {
  return status === 'pending' && expiresAt > now;
}
