import { z } from 'zod';
import { withoutBidiControls } from '../../bidi-text.ts';
import { platformRoleNames, roleNames } from '../../scopes.ts';
import { apiKeyLimits, keyPrefix, keyPublicId, scope } from './keys.ts';
import {
  keyId,
  memberId,
  mode,
  noContent,
  organisationId,
  v2Operation,
  pageOf,
  pageQuery,
  timestamp,
  userId,
} from '../../operation-builders.ts';

/** The caller, organisations and their members. */

export const role = z.enum(roleNames).meta({ id: 'Role' });
export const platformRole = z.enum(platformRoleNames).meta({ id: 'PlatformRole' });
export const organisationStatus = z.enum(['active', 'suspended']).meta({ id: 'OrganisationStatus' });

export const organisationName = z.string().trim().min(1).max(100);

export const organisation = z
  .object({
    id: organisationId,
    name: organisationName,
    slug: z.string().max(100),
    status: organisationStatus,
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Organisation' });

export const member = z
  .object({
    id: memberId,
    organisationId,
    userId,
    role,
    email: z.string().max(255),
    name: z.string().max(255).nullable(),
    picture: z.string().nullable(),
    createdAt: timestamp,
  })
  .meta({ id: 'Member' });

const me = z
  .object({
    user: z.object({
      id: userId,
      email: z.string().max(255),
      name: z.string().max(255).nullable(),
      picture: z.string().nullable(),
    }),
    organisation,
    role,
    platformRoles: z.array(platformRole),
    mode,
    scopes: z.array(scope).meta({ description: 'The current scopes of the caller.' }),
    key: z
      .object({
        id: keyId,
        publicId: keyPublicId,
        prefix: keyPrefix,
        name: z.string(),
        expiresAt: timestamp.nullable(),
        limits: apiKeyLimits,
        allowedIps: z.array(z.string()),
      })
      .nullable()
      .meta({ description: 'The API key used; null for a signed-in user.' }),
  })
  .meta({ id: 'Me' });

const organisationParams = z.object({ organisationId });
const memberParams = z.object({ organisationId, userId });

export const organisationOperations = {
  getMe: v2Operation('GET /v2/me', {
    scope: null,
    summary: 'Read who you are and what you can do',
    tags: ['identity'],
    response: { status: 200, schema: me },
  }),
  listOrganisations: v2Operation('GET /v2/organisations', {
    scope: 'organisation:read',
    summary: 'List the organisations of the caller',
    tags: ['organisations'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(organisation) },
  }),
  getOrganisation: v2Operation('GET /v2/organisations/{organisationId}', {
    scope: 'organisation:read',
    summary: 'Read an organisation',
    tags: ['organisations'],
    params: organisationParams,
    response: { status: 200, schema: organisation },
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  updateOrganisation: v2Operation('PATCH /v2/organisations/{organisationId}', {
    scope: 'organisation:write',
    summary: 'Change an organisation',
    tags: ['organisations'],
    params: organisationParams,
    body: z
      .object({ name: withoutBidiControls(organisationName).optional() })
      .meta({ id: 'OrganisationUpdate' }),
    response: { status: 200, schema: organisation },
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  listMembers: v2Operation('GET /v2/organisations/{organisationId}/members', {
    scope: 'members:read',
    summary: 'List the members of an organisation',
    tags: ['organisations'],
    params: organisationParams,
    query: pageQuery,
    response: { status: 200, schema: pageOf(member) },
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  updateMember: v2Operation('PATCH /v2/organisations/{organisationId}/members/{userId}', {
    scope: 'members:write',
    summary: 'Change the role of a member',
    description:
      'You cannot give a role with more scopes than yours. Removing the last owner is refused with 409.',
    tags: ['organisations'],
    params: memberParams,
    body: z.object({ role }).meta({ id: 'MemberUpdate' }),
    response: { status: 200, schema: member },
    refuses: [409],
    notFoundReason: 'MEMBER_NOT_FOUND',
  }),
  removeMember: v2Operation('DELETE /v2/organisations/{organisationId}/members/{userId}', {
    scope: 'members:write',
    summary: 'Remove a member and revoke the keys they created here',
    tags: ['organisations'],
    params: memberParams,
    response: noContent,
    refuses: [409],
    notFoundReason: 'MEMBER_NOT_FOUND',
  }),
} as const;
