import { Fault } from '@millrace/platform/fault';
import { requirePrincipal } from '@millrace/platform/http';
import { parseId, type OrgId, type UserId } from '@millrace/platform/ids';
import { findKey } from '../model/api-keys.store.ts';
import { listOrganisationAuditLog } from '../model/audit.store.ts';
import type { MemberService } from './members.service.ts';
import type { Organisation } from '../model/identity.ts';
import { auditFilterOf, toWireAudit, toWireMe, toWireMember, toWireOrganisation } from '../identity.wire.ts';
import { findMembership, findOrganisation, listMembers } from '../model/organisations.store.ts';
import {
  callContextOf,
  requireOwnOrgId,
  pageById,
  positionFromCursor,
  readCommitted,
  type RouteDeps,
} from '../route-helpers.ts';

export interface OrganisationRoutes extends RouteDeps {
  readonly members: MemberService;
}

/** The caller, its organisation and its members. */
export function serveOrganisations({ server, operations, db, members }: OrganisationRoutes): void {
  server.serve(operations.getMe, async ({ context }) => {
    const principal = requirePrincipal(context);
    const { orgId, userId, keyId } = principal;
    const [key, membership] = await Promise.all([
      findKey(db, orgId, keyId),
      findMembership(db, orgId, userId),
    ]);
    // The key was valid when the request arrived; membership or key may have ended since.
    if (key === null || membership === null) {
      throw new Fault(principal.kind === 'session' ? 'NOT_A_MEMBER' : 'API_KEY_REVOKED');
    }
    return toWireMe(principal, key, membership.organisation, membership.member);
  });

  server.serve(operations.listOrganisations, async ({ query, context }) => {
    // A caller belongs to exactly one organisation, so this list has one entry and the next page is empty.
    const own = await requireOwnOrganisation(db, requirePrincipal(context).orgId);
    const rows = positionFromCursor('org', query.cursor) === null ? [own] : [];
    return pageById(rows, query.limit, toWireOrganisation);
  });

  server.serve(operations.getOrganisation, async ({ params, context }) => {
    const orgId = requireOwnOrgId(context, params.organisationId, 'ORGANISATION_NOT_FOUND');
    return toWireOrganisation(await requireOwnOrganisation(db, orgId));
  });

  server.serve(operations.updateOrganisation, ({ params, body, context, transact }) => {
    requireOwnOrgId(context, params.organisationId, 'ORGANISATION_NOT_FOUND');
    return transact({ name: 'update organisation', isolation: readCommitted }, async (tx) => ({
      body: toWireOrganisation(await members.rename(tx, callContextOf(context), body.name)),
    }));
  });

  server.serve(operations.listMembers, async ({ params, query, context }) => {
    const orgId = requireOwnOrgId(context, params.organisationId, 'ORGANISATION_NOT_FOUND');
    const { limit } = query;
    const rows = await listMembers(db, orgId, { limit, after: positionFromCursor('mem', query.cursor) });
    return pageById(rows, limit, toWireMember);
  });

  server.serve(operations.updateMember, ({ params, body, context, transact }) => {
    requireOwnOrgId(context, params.organisationId, 'MEMBER_NOT_FOUND');
    const userId = requireUserId(params.userId);
    return transact({ name: 'change role', isolation: readCommitted }, async (tx) => ({
      body: toWireMember(await members.changeRole(tx, callContextOf(context), userId, body.role)),
    }));
  });

  server.serve(operations.removeMember, ({ params, context, transact }) => {
    requireOwnOrgId(context, params.organisationId, 'MEMBER_NOT_FOUND');
    const userId = requireUserId(params.userId);
    return transact({ name: 'remove member', isolation: readCommitted }, async (tx) => {
      await members.remove(tx, callContextOf(context), userId);
      return { body: undefined };
    });
  });
}

export function serveAuditLog({ server, operations, db }: RouteDeps): void {
  server.serve(operations.listAuditLog, async ({ query, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const { limit } = query;
    const filter = { ...auditFilterOf(query), mode: mode === 'test' ? mode : null };
    const rows = await listOrganisationAuditLog(db, orgId, filter, {
      limit,
      after: positionFromCursor('aud', query.cursor),
    });
    return pageById(rows, limit, (entry) => toWireAudit(entry, true));
  });
}

async function requireOwnOrganisation(db: RouteDeps['db'], orgId: OrgId): Promise<Organisation> {
  const organisation = await findOrganisation(db, orgId);
  if (organisation === null) throw new Fault('ORGANISATION_NOT_FOUND');
  return organisation;
}

function requireUserId(text: string): UserId {
  const id = parseId('usr', text);
  if (id === null) throw new Fault('MEMBER_NOT_FOUND');
  return id;
}
