import type { PlatformRole, Role } from '@millrace/contract';
import type { InvitationId, OrgId, UserId } from '@millrace/platform/ids';
import type { Organisation } from '../identity/index.ts';

/** The words of this feature as values. */

/** An organisation, and as what somebody belongs to it. */
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
/** Open at once in one organisation. Those that have expired are not open. */
export const PENDING_INVITATIONS_MAX = 100;
/** Made in one organisation in a day, whatever became of them: each is a letter to somebody who did not ask for it. */
export const INVITATIONS_PER_DAY = 200;
/** To one mailbox in a day, from whichever organisations. Beyond that invitations stand, and no letter says so. */
export const INVITATION_EMAILS_PER_DAY = 5;
export const OWNED_ORGANISATIONS_MAX = 10;
/** Whoever asks twice for an organisation of one name within this time means the same one. */
export const DUPLICATE_ORGANISATION_MS = 10 * 60_000;

export function daysBefore(now: Date, days: number): Date {
  return new Date(now.getTime() - days * DAY_MS);
}

/** Expiry is by the clock alone: nobody has to note it. */
export function isInvitationOpen(
  { status, expiresAt }: Pick<Invitation, 'status' | 'expiresAt'>,
  now: Date,
): boolean {
  return status === 'pending' && expiresAt > now;
}
