import type { Answer, Contract } from '@millrace/contract';
import { toWireOrganisation } from '../identity/index.ts';
import { isOpen, type Invitation, type Membership } from './people.ts';

/** Values of this feature as answers of the API. */

type Operations = Contract['operations'];
type WireMembership = Answer<Operations['createOrganisation']>;
type WireInvitation = Answer<Operations['listInvitations']>['items'][number];
type WireOwnInvitation = Answer<Operations['listMyInvitations']>['items'][number];

export function toWireMembership({ organisation, role, platformRoles }: Membership): WireMembership {
  return { organisation: toWireOrganisation(organisation), role, platformRoles: [...platformRoles] };
}

export function toWireInvitation(invitation: Invitation, now: Date): WireInvitation {
  return {
    id: invitation.id,
    organisationId: invitation.orgId,
    email: invitation.email,
    role: invitation.role,
    status: isOpen(invitation, now) ? 'pending' : 'expired',
    invitedBy: { name: invitation.inviter.name, email: invitation.inviter.email },
    createdAt: invitation.createdAt.toISOString(),
    expiresAt: invitation.expiresAt.toISOString(),
  };
}

/** To whoever is invited: of the organisation no more than its name. */
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
