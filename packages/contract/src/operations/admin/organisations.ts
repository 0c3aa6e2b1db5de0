import { z } from 'zod';
import { withoutBidiControls } from '../../bidi-text.ts';
import { member, organisation, organisationName, organisationStatus, role } from '../v2/organisations.ts';
import { auditEntry, auditQuery } from '../v2/audit-log.ts';
import {
  adminOperation,
  auditReason,
  nanoUsd,
  organisationId,
  pageOf,
  pageQuery,
} from '../../operation-builders.ts';

/** Operator operations: organisations and their members. */

export const adminOrganisation = z
  .object({
    ...organisation.shape,
    homeCell: z.int().min(0).max(1023).meta({ description: 'The cell that stores its money.' }),
    suspendedAt: z.iso.datetime().nullable(),
    suspendedReason: z.string().nullable(),
    balanceNanoUsd: nanoUsd.meta({ description: 'Balance in live mode, including held money.' }),
  })
  .meta({ id: 'AdminOrganisation' });

const email = z.email().max(255);
const userName = withoutBidiControls(z.string().trim().min(1).max(255));

export const adminOrganisationParams = z.object({ organisationId });

const slug = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'must be 1 to 63 lower-case letters, digits and inner hyphens',
  );

export const adminOrganisationOperations = {
  adminListOrganisations: adminOperation('GET /v2/admin/organisations', {
    scope: 'admin:read',
    summary: 'List all organisations',
    tags: ['organisations'],
    query: pageQuery.extend({
      status: organisationStatus.optional(),
      search: z
        .string()
        .trim()
        .min(1)
        .max(100)
        .optional()
        .meta({ description: 'Only organisations whose name or slug contains this text, case-insensitive.' }),
    }),
    response: { status: 200, schema: pageOf(adminOrganisation) },
  }),
  adminCreateOrganisation: adminOperation('POST /v2/admin/organisations', {
    scope: 'admin:write',
    summary: 'Create an organisation with its first owner',
    description: 'The user with this email address becomes the owner; if there is none, one is created.',
    tags: ['organisations'],
    body: z
      .object({
        name: withoutBidiControls(organisationName),
        slug: slug.optional().meta({ description: 'Default: derived from the name.' }),
        owner: z.object({ email, name: userName.optional() }),
        reason: auditReason.optional(),
      })
      .meta({ id: 'AdminOrganisationCreate' }),
    response: { status: 201, schema: adminOrganisation },
    refuses: [409],
    idempotency: 'key',
  }),
  adminGetOrganisation: adminOperation('GET /v2/admin/organisations/{organisationId}', {
    scope: 'admin:read',
    summary: 'Read any organisation',
    tags: ['organisations'],
    params: adminOrganisationParams,
    response: { status: 200, schema: adminOrganisation },
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  adminListMembers: adminOperation('GET /v2/admin/organisations/{organisationId}/members', {
    scope: 'admin:read',
    summary: 'List the members of any organisation',
    tags: ['organisations'],
    params: adminOrganisationParams,
    query: pageQuery,
    response: { status: 200, schema: pageOf(member) },
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  adminAddMember: adminOperation('POST /v2/admin/organisations/{organisationId}/members', {
    scope: 'admin:write',
    summary: 'Add a user to an organisation',
    tags: ['organisations'],
    params: adminOrganisationParams,
    body: z
      .object({ email, name: userName.optional(), role, reason: auditReason.optional() })
      .meta({ id: 'AdminMemberAdd' }),
    response: { status: 201, schema: member },
    refuses: [409],
    idempotency: 'key',
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  adminSuspendOrganisation: adminOperation('POST /v2/admin/organisations/{organisationId}/suspend', {
    scope: 'admin:write',
    summary: 'Suspend an organisation: its keys are refused within a second',
    description:
      'Suspending twice returns the same result. `runningWork: stop` terminates its rentals and instances within seconds, without charging the rest of a term; volumes are kept. To terminate what `keep` left running, suspend again with `stop`.',
    tags: ['organisations'],
    params: adminOrganisationParams,
    body: z
      .object({ reason: auditReason, runningWork: z.enum(['keep', 'stop']).default('keep') })
      .meta({ id: 'AdminSuspend' }),
    response: { status: 200, schema: adminOrganisation },
    idempotency: 'key',
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  adminResumeOrganisation: adminOperation('POST /v2/admin/organisations/{organisationId}/resume', {
    scope: 'admin:write',
    summary: 'Lift the suspension of an organisation',
    tags: ['organisations'],
    params: adminOrganisationParams,
    body: z.object({ reason: auditReason }).meta({ id: 'AdminResume' }),
    response: { status: 200, schema: adminOrganisation },
    idempotency: 'key',
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  adminListAuditLog: adminOperation('GET /v2/admin/audit-log', {
    scope: 'admin:read',
    summary: 'Read the audit log of all organisations, newest first',
    tags: ['audit-log'],
    query: auditQuery.extend({ organisationId: organisationId.optional() }),
    response: { status: 200, schema: pageOf(auditEntry) },
  }),
} as const;
