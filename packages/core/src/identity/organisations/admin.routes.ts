import { Fault } from '@millrace/platform/fault';
import { requirePrincipal } from '@millrace/platform/http';
import type { Reader } from '@millrace/platform/db';
import { parseId, type OrgId } from '@millrace/platform/ids';
import type { NanoUsd } from '@millrace/platform/money';
import type { Organisation } from '../model/identity.ts';
import type { PublishKeyChange } from '../keys/key-changes.ts';
import { addMember, createOrganisation, setOrganisationStatus } from './admin.service.ts';
import type { RunningWorkloads } from './admin.service.ts';
import { listInstallationAuditLog } from '../model/audit.store.ts';
import {
  auditFilterOf,
  toWireAdminOrganisation,
  toWireAudit,
  toWireMember,
  type WireAdminOrganisation,
} from '../identity.wire.ts';
import { findOrganisation, listAllOrganisations, listMembers } from '../model/organisations.store.ts';
import { operatorAuditContext, pageById, positionFromCursor, readCommitted } from '../route-helpers.ts';
import type { RouteDeps } from '../route-helpers.ts';

export interface AdminRoutes extends RouteDeps {
  readonly announce: PublishKeyChange;
  readonly work: RunningWorkloads;
  /** The home cell of new organisations. */
  readonly homeCell: number;
  /** Balances in live mode, in one query. Passed in, because this feature does not read the ledger. */
  readonly liveBalances: ReadLiveBalances;
}

/** Organisations without money are missing from the map. */
export type ReadLiveBalances = (
  reader: Reader,
  orgIds: readonly OrgId[],
) => Promise<ReadonlyMap<OrgId, NanoUsd>>;

/** Operator routes for all organisations of the installation. */
export function serveAdmin(routes: AdminRoutes): void {
  serveOrganisations(routes);
  serveMembers(routes);
  serveSuspensions(routes);
  serveInstallationAuditLog(routes);
}

/** Converts organisations to responses with their balances. */
const withBalance =
  ({ liveBalances }: Pick<AdminRoutes, 'liveBalances'>) =>
  async (reader: Reader, organisation: Organisation): Promise<WireAdminOrganisation> => {
    const balances = await liveBalances(reader, [organisation.id]);
    return toWireAdminOrganisation(organisation, balances.get(organisation.id));
  };

function serveOrganisations({ server, operations, db, homeCell, liveBalances }: AdminRoutes): void {
  const wireOf = withBalance({ liveBalances });
  server.serve(operations.adminListOrganisations, async ({ query }) => {
    const { limit, status = null, search = null } = query;
    const after = positionFromCursor('org', query.cursor);
    const rows = await listAllOrganisations(db, { limit, status, search, after });
    const balances = await liveBalances(
      db,
      rows.map(({ id }) => id),
    );
    return pageById(rows, limit, (row) => toWireAdminOrganisation(row, balances.get(row.id)));
  });

  server.serve(operations.adminCreateOrganisation, ({ body, context, transact }) =>
    transact({ name: 'create organisation', isolation: readCommitted }, async (tx) => {
      const { name, slug, owner } = body;
      const request = { name, homeCell, owner: personOf(owner), ...(slug === undefined ? {} : { slug }) };
      const cause = { ...operatorAuditContext(context), reason: body.reason };
      const { organisation } = await createOrganisation(tx, cause, request);
      const resource = { kind: 'organisation', id: organisation.id };
      return { body: await wireOf(tx, organisation), resource };
    }),
  );

  server.serve(operations.adminGetOrganisation, async ({ params }) => {
    const organisation = await findOrganisation(db, requireOrgId(params.organisationId));
    if (organisation === null) throw new Fault('ORGANISATION_NOT_FOUND');
    return wireOf(db, organisation);
  });
}

function serveMembers({ server, operations, db }: AdminRoutes): void {
  server.serve(operations.adminListMembers, async ({ params, query }) => {
    const orgId = requireOrgId(params.organisationId);
    if ((await findOrganisation(db, orgId)) === null) throw new Fault('ORGANISATION_NOT_FOUND');
    const { limit } = query;
    const rows = await listMembers(db, orgId, { limit, after: positionFromCursor('mem', query.cursor) });
    return pageById(rows, limit, toWireMember);
  });

  server.serve(operations.adminAddMember, ({ params, body, context, transact }) =>
    transact({ name: 'add member', isolation: readCommitted }, async (tx) => {
      const request = { ...personOf(body), role: body.role };
      const cause = { ...operatorAuditContext(context), reason: body.reason };
      const member = await addMember(tx, cause, requireOrgId(params.organisationId), request);
      return { body: toWireMember(member), resource: { kind: 'member', id: member.id } };
    }),
  );
}

function serveSuspensions({ server, operations, announce, work, liveBalances }: AdminRoutes): void {
  const wireOf = withBalance({ liveBalances });
  server.serve(operations.adminSuspendOrganisation, ({ params, body, context, transact }) => {
    const orgId = requireOrgId(params.organisationId);
    if (orgId === requirePrincipal(context).orgId) {
      throw new Fault('VALIDATION_FAILED', {
        message: 'The key you use belongs to this organisation, so suspending it would lock you out.',
        suggestion: 'Use an operator key of another organisation.',
      });
    }
    return transact({ name: 'suspend organisation', isolation: readCommitted }, async (tx) => {
      const request = { status: 'suspended', ...body } as const;
      const cause = operatorAuditContext(context);
      const organisation = await setOrganisationStatus(tx, { announce, work }, cause, orgId, request);
      return { body: await wireOf(tx, organisation), resource: { kind: 'organisation', id: orgId } };
    });
  });

  server.serve(operations.adminResumeOrganisation, ({ params, body, context, transact }) =>
    transact({ name: 'resume organisation', isolation: readCommitted }, async (tx) => {
      const orgId = requireOrgId(params.organisationId);
      const request = { status: 'active', ...body } as const;
      const cause = operatorAuditContext(context);
      const organisation = await setOrganisationStatus(tx, { announce, work }, cause, orgId, request);
      return { body: await wireOf(tx, organisation), resource: { kind: 'organisation', id: orgId } };
    }),
  );
}

function serveInstallationAuditLog({ server, operations, db }: AdminRoutes): void {
  server.serve(operations.adminListAuditLog, async ({ query }) => {
    const { limit } = query;
    const orgId = query.organisationId === undefined ? null : requireOrgId(query.organisationId);
    const filter = { ...auditFilterOf(query), orgId };
    const after = positionFromCursor('aud', query.cursor);
    const rows = await listInstallationAuditLog(db, filter, { limit, after });
    return pageById(rows, limit, (entry) => toWireAudit(entry, false));
  });
}

function requireOrgId(text: string): OrgId {
  const id = parseId('org', text);
  if (id === null) throw new Fault('ORGANISATION_NOT_FOUND');
  return id;
}

function personOf(person: { email: string; name?: string | undefined }): { email: string; name?: string } {
  return person.name === undefined ? { email: person.email } : { email: person.email, name: person.name };
}
