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

/** What people do before, and beside, acting for an organisation: their organisations, and invitations to others. */

const invitationId = prefixedId('inv', 'an invitation');

const invitationReply = z
  .object({
    secret: z.string().max(200).optional().meta({
      description:
        'The secret of the invitation\u2019s link: the part after #invitation=. Needed in an installation without mail, where nothing else proves the mailbox.',
    }),
  })
  .meta({ id: 'InvitationAnswer' });

/** One plain mailbox: nothing that could be read as two addresses, as a comment or as a header. */
const email = z
  .email()
  .max(255)
  .regex(/^[^\s@<>()[\]",;:\\]{1,64}@[^\s@<>()[\]",;:\\]{1,190}$/, 'must be one plain mail address')
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
        'Where the person signs up, in an installation without mail: give it to them, and to no other. It is shown this once, and a replay answers null. Null where mail proves the mailbox.',
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

/** Those of an organisation, for whoever looks after its members. */
const organisationInvitationOperations = {
  listInvitations: v2Operation('GET /v2/organisations/{organisationId}/invitations', {
    scope: 'members:read',
    summary: 'List the invitations that nobody has answered',
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
      'Open for seven days. Inviting the same mailbox again renews the invitation, with the role of the last one. The role must not hold more than the inviter may give. ' +
      'In an installation without mail the answer has a link, shown once: give it to the person.',
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
    summary: 'Take an invitation back',
    tags: ['organisations'],
    params: z.object({ organisationId, invitationId }),
    response: noContent,
    notFoundReason: 'INVITATION_NOT_FOUND',
  }),
} as const;

const userInvitationOperations = {
  listMyOrganisations: sessionOperation('GET /v2/me/organisations', {
    summary: 'List the organisations that you belong to',
    tags: ['people'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(membership) },
  }),
  createOrganisation: sessionOperation('POST /v2/organisations', {
    summary: 'Create an organisation and own it',
    description:
      'Asked for twice within ten minutes under the same name, the second answer is the organisation of the first. A person owns at most ten.',
    tags: ['people'],
    body: z.object({ name: withoutBidiControls(organisationName) }).meta({ id: 'NewOrganisation' }),
    response: { status: 201, schema: membership },
    refuses: [409],
  }),
  listMyInvitations: sessionOperation('GET /v2/me/invitations', {
    summary: 'List the invitations to your mailbox that are open',
    tags: ['people'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(ownInvitation) },
  }),
  acceptInvitation: sessionOperation('POST /v2/me/invitations/{invitationId}/accept', {
    summary: 'Accept an invitation',
    description:
      'Accepting twice answers the same. In an installation without mail it needs the secret of the link that the inviter was shown.',
    tags: ['people'],
    params: invitationParams,
    body: invitationReply,
    response: { status: 200, schema: membership },
    refuses: [409],
    notFoundReason: 'INVITATION_NOT_FOUND',
  }),
  declineInvitation: sessionOperation('POST /v2/me/invitations/{invitationId}/decline', {
    summary: 'Decline an invitation',
    description: 'In an installation without mail it needs the secret of the link, as accepting does.',
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
