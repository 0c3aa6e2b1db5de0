import type { ResponseBody, Contract } from '@millrace/contract';
import { toWireOrganisation } from '../identity/index.ts';
import { isInvitationOpen, type Invitation, type Membership } from './people.ts';

/** Converts values of this feature to API responses. */

type Operations = Contract['operations'];
type WireMembership = ResponseBody<Operations['createOrganisation']>;
type WireInvitation = ResponseBody<Operations['listInvitations']>['items'][number];
type WireOwnInvitation = ResponseBody<Operations['listMyInvitations']>['items'][number];

export function toWireMembership({ organisation, role, platformRoles }: Membership): WireMembership {
  return { organisation: toWireOrganisation(organisation), role, platformRoles: [...platformRoles] };
}

export function toWireInvitation(invitation: Invitation, now: Date): WireInvitation {
  return {
    id: invitation.id,
    organisationId: invitation.orgId,
    email: invitation.email,
    role: invitation.role,
    status: isInvitationOpen(invitation, now) ? 'pending' : 'expired',
    invitedBy: { name: invitation.inviter.name, email: invitation.inviter.email },
    createdAt: invitation.createdAt.toISOString(),
    expiresAt: invitation.expiresAt.toISOString(),
  };
}

/** For the invited user: only id and name of the organisation. */
export function toWireOwnInvitation(invitation: Invitation): WireOwnInvitation {
  return {
    id: invitation.id,
    organisation: { id: invitation.orgId, name: invitation.orgName },
    role: invitation.role,
    invitedBy: { name: invitation.inviter.name, email: invitation.inviter.email },
    createdAt: invitation.createdAt.toISOString(),
    expiresAt: invitation.expiresAt.toISOString(),
  };
}
