import { z } from 'zod';
import { withoutBidiControls } from '../../bidi-text.ts';
import { organisation, organisationName, platformRole, role } from './organisations.ts';
import {
  noContent,
  sessionOperation,
  organisationId,
  v2Operation,
  pageOf,
  pageQuery,
  prefixedId,
  timestamp,
} from '../../operation-builders.ts';

/** Operations of users outside an organisation: their organisations and invitations. */

const invitationId = prefixedId('inv', 'an invitation');

const invitationReply = z
  .object({
    secret: z.string().max(200).optional().meta({
      description:
        'The secret of the invitation link: the part after #invitation=. Needed if the installation sends no email, because only the link proves the email address.',
    }),
  })
  .meta({ id: 'InvitationAnswer' });

/** One plain email address, which cannot be read as two addresses, as a comment or as a header. */
const email = z
  .email()
  .max(255)
  .regex(/^[^\s@<>()[\]",;:\\]{1,64}@[^\s@<>()[\]",;:\\]{1,190}$/, 'must be one plain email address')
  .toLowerCase();

const membership = z
  .object({ organisation, role, platformRoles: z.array(platformRole) })
  .meta({ id: 'Membership' });

const inviter = z.object({ name: z.string().max(255), email: z.string().max(255) });

const invitation = z
  .object({
    id: invitationId,
    organisationId,
    email: z.string().max(255),
    role,
    status: z.enum(['pending', 'expired']),
    invitedBy: inviter,
    createdAt: timestamp,
    expiresAt: timestamp,
  })
  .meta({ id: 'Invitation' });

const newInvitation = invitation
  .extend({
    link: z.url().max(2_000).nullable().meta({
      description:
        'The sign-up link, if the installation sends no email: give it only to the invited person. It is shown only once, and a replay returns null. Null if the installation sends email.',
    }),
  })
  .meta({ id: 'InvitationWithLink' });

const ownInvitation = z
  .object({
    id: invitationId,
    organisation: z.object({ id: organisationId, name: organisationName }),
    role,
    invitedBy: inviter,
    createdAt: timestamp,
    expiresAt: timestamp,
  })
  .meta({ id: 'OwnInvitation' });

const organisationParams = z.object({ organisationId });
const invitationParams = z.object({ invitationId });

/** Operations of members who manage invitations. */
const organisationInvitationOperations = {
  listInvitations: v2Operation('GET /v2/organisations/{organisationId}/invitations', {
    scope: 'members:read',
    summary: 'List open invitations',
    tags: ['organisations'],
    params: organisationParams,
    query: pageQuery,
    response: { status: 200, schema: pageOf(invitation) },
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  inviteMember: v2Operation('POST /v2/organisations/{organisationId}/invitations', {
    scope: 'members:write',
    summary: 'Invite a person to the organisation',
    description:
      'Open for seven days. Inviting the same email address again renews the invitation with the new role. The role must not have more rights than the inviter. If the installation sends no email, the response has a link, shown only once: give it to the person.',
    tags: ['organisations'],
    params: organisationParams,
    body: z.object({ email, role }).meta({ id: 'NewInvitation' }),
    response: { status: 201, schema: newInvitation },
    refuses: [409],
    idempotency: 'key',
    redactForReplay: ['link'],
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  cancelInvitation: v2Operation('DELETE /v2/organisations/{organisationId}/invitations/{invitationId}', {
    scope: 'members:write',
    summary: 'Withdraw an invitation',
    tags: ['organisations'],
    params: z.object({ organisationId, invitationId }),
    response: noContent,
    notFoundReason: 'INVITATION_NOT_FOUND',
  }),
} as const;

const userInvitationOperations = {
  listMyOrganisations: sessionOperation('GET /v2/me/organisations', {
    summary: 'List your organisations',
    tags: ['people'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(membership) },
  }),
  createOrganisation: sessionOperation('POST /v2/organisations', {
    summary: 'Create an organisation and own it',
    description:
      'If you send the same name twice within ten minutes, the second response returns the first organisation. A user can own at most ten.',
    tags: ['people'],
    body: z.object({ name: withoutBidiControls(organisationName) }).meta({ id: 'NewOrganisation' }),
    response: { status: 201, schema: membership },
    refuses: [409],
  }),
  listMyInvitations: sessionOperation('GET /v2/me/invitations', {
    summary: 'List open invitations to your email address',
    tags: ['people'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(ownInvitation) },
  }),
  acceptInvitation: sessionOperation('POST /v2/me/invitations/{invitationId}/accept', {
    summary: 'Accept an invitation',
    description:
      'Accepting twice returns the same result. If the installation sends no email, it needs the secret of the invitation link.',
    tags: ['people'],
    params: invitationParams,
    body: invitationReply,
    response: { status: 200, schema: membership },
    refuses: [409],
    notFoundReason: 'INVITATION_NOT_FOUND',
  }),
  declineInvitation: sessionOperation('POST /v2/me/invitations/{invitationId}/decline', {
    summary: 'Decline an invitation',
    description: 'If the installation sends no email, it needs the secret of the invitation link.',
    tags: ['people'],
    params: invitationParams,
    body: invitationReply,
    response: noContent,
    notFoundReason: 'INVITATION_NOT_FOUND',
  }),
} as const;

export const membershipOperations = {
  ...organisationInvitationOperations,
  ...userInvitationOperations,
} as const;
