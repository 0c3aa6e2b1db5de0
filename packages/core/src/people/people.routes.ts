import type { Contract } from '@millrace/contract';
import type { Clock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { requirePerson, toPage, type HttpServer } from '@millrace/platform/http';
import { parseId, type InvitationId } from '@millrace/platform/ids';
import { keyCallOf, ownOrgId, pageOf, personCauseOf, positionIn, readCommitted } from '../identity/index.ts';
import {
  acceptInvitation,
  cancelInvitation,
  declineInvitation,
  inviteMember,
} from './invitations.service.ts';
import { createOwnOrganisation, listMemberships } from './organisations.service.ts';
import { listOpenFor, listUnanswered } from './people.store.ts';
import { toWireInvitation, toWireMembership, toWireOwnInvitation } from './people.wire.ts';

export interface PeopleRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly clock: Clock;
  /** The cell new organisations are at home in. */
  readonly homeCell: number;
  /** Where people answer invitations; null: letters do not say. */
  readonly invitationsUrl: string | null;
}

/** The organisations of people, and invitations to them. */
export function servePeople(routes: PeopleRoutes): void {
  serveOwnOrganisations(routes);
  serveInvitations(routes);
  serveAnswers(routes);
}

function serveOwnOrganisations({ server, operations, db, homeCell }: PeopleRoutes): void {
  server.serve(operations.listMyOrganisations, async ({ query: { limit, cursor }, context }) => {
    const { userId } = requirePerson(context);
    const rows = await listMemberships(db, userId, { limit, after: positionIn('org', cursor) });
    const positionOf = ({ organisation }: (typeof rows)[number]) => ({ id: organisation.id });
    return toPage({ rows, limit, toItem: toWireMembership, positionOf });
  });

  server.serve(operations.createOrganisation, ({ body: { name }, context, transact }) =>
    transact({ name: 'create own organisation', isolation: readCommitted }, async (tx) => {
      const { userId } = requirePerson(context);
      const made = await createOwnOrganisation(tx, personCauseOf(context), userId, { name, homeCell });
      return {
        body: toWireMembership(made),
        resource: { kind: 'organisation', id: made.organisation.id },
      };
    }),
  );
}

function serveInvitations({ server, operations, db, clock, invitationsUrl: link }: PeopleRoutes): void {
  server.serve(operations.listInvitations, async ({ params, query: { limit, cursor }, context }) => {
    const orgId = ownOrgId(context, params.organisationId, 'ORGANISATION_NOT_FOUND');
    const rows = await listUnanswered(db, orgId, { limit, after: positionIn('inv', cursor) });
    const now = clock.now();
    return pageOf(rows, limit, (invitation) => toWireInvitation(invitation, now));
  });

  server.serve(operations.inviteMember, ({ params, body, context, transact }) => {
    ownOrgId(context, params.organisationId, 'ORGANISATION_NOT_FOUND');
    return transact({ name: 'invite member', isolation: readCommitted }, async (tx) => {
      const invitation = await inviteMember(tx, keyCallOf(context), { ...body, link });
      return {
        body: toWireInvitation(invitation, tx.clock.now()),
        resource: { kind: 'invitation', id: invitation.id },
      };
    });
  });

  server.serve(operations.cancelInvitation, ({ params, context, transact }) => {
    ownOrgId(context, params.organisationId, 'INVITATION_NOT_FOUND');
    const id = requireInvitationId(params.invitationId);
    return transact({ name: 'cancel invitation', isolation: readCommitted }, async (tx) => {
      await cancelInvitation(tx, keyCallOf(context), id);
      return { body: undefined };
    });
  });
}

function serveAnswers({ server, operations, db, clock }: PeopleRoutes): void {
  server.serve(operations.listMyInvitations, async ({ query: { limit, cursor }, context }) => {
    const { email } = requirePerson(context);
    const page = { limit, after: positionIn('inv', cursor) };
    return pageOf(await listOpenFor(db, email, clock.now(), page), limit, toWireOwnInvitation);
  });

  server.serve(operations.acceptInvitation, ({ params, context, transact }) =>
    transact({ name: 'accept invitation', isolation: readCommitted }, async (tx) => {
      const { userId } = requirePerson(context);
      const id = requireInvitationId(params.invitationId);
      return { body: toWireMembership(await acceptInvitation(tx, personCauseOf(context), userId, id)) };
    }),
  );

  server.serve(operations.declineInvitation, ({ params, context, transact }) =>
    transact({ name: 'decline invitation', isolation: readCommitted }, async (tx) => {
      const { userId } = requirePerson(context);
      await declineInvitation(tx, personCauseOf(context), userId, requireInvitationId(params.invitationId));
      return { body: undefined };
    }),
  );
}

function requireInvitationId(text: string): InvitationId {
  const id = parseId('inv', text);
  if (id === null) throw new Fault('INVITATION_NOT_FOUND');
  return id;
}
