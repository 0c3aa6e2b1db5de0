import type { Contract } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { requireSessionUser, toPage, type HttpServer } from '@millrace/platform/http';
import { parseId, type InvitationId } from '@millrace/platform/ids';
import {
  callContextOf,
  requireOwnOrgId,
  pageById,
  personAuditContext,
  positionFromCursor,
  readCommitted,
} from '../identity/index.ts';
import {
  acceptInvitation,
  cancelInvitation,
  declineInvitation,
  inviteMember,
  type EmailProof,
} from './invitations.service.ts';
import { createOwnOrganisation, listMemberships } from './organisations.service.ts';
import type { Invitation } from './people.ts';
import { listOpenInvitations, listUnansweredInvitations } from './people.store.ts';
import { toWireInvitation, toWireMembership, toWireOwnInvitation } from './people.wire.ts';

export interface PeopleRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly clock: Timer;
  /** The home cell of new organisations. */
  readonly homeCell: number;
  /** The page for invitations; null: emails have no link. */
  readonly invitationsUrl: string | null;
  /** The page to opt out of invitation emails; null: emails have no link. */
  readonly refuseLinkOf: ((email: string) => string) | null;
  /** The sign-up link of an invitation, for installations without email; null if emails verify addresses. */
  readonly signUpLinkOf: ((invitation: Invitation) => string) | null;
  /** Whether the text is the secret of the invitation's link, for installations without email; null if emails verify addresses. */
  readonly isSecretOf: ((invitation: Invitation, secret: string) => boolean) | null;
}

/** Organisations of users, and invitations to them. */
export function servePeople(routes: PeopleRoutes): void {
  serveOwnOrganisations(routes);
  serveInvitations(routes);
  serveInvitationAnswers(routes);
}

function serveOwnOrganisations({ server, operations, db, homeCell, signUpLinkOf }: PeopleRoutes): void {
  server.serve(operations.listMyOrganisations, async ({ query: { limit, cursor }, context }) => {
    const { userId } = requireSessionUser(context);
    const rows = await listMemberships(db, userId, { limit, after: positionFromCursor('org', cursor) });
    const positionOf = ({ organisation }: (typeof rows)[number]) => ({ id: organisation.id });
    return toPage({ rows, limit, toItem: toWireMembership, positionOf });
  });

  server.serve(operations.createOrganisation, ({ body: { name }, context, transact }) =>
    transact({ name: 'create own organisation', isolation: readCommitted }, async (tx) => {
      const { userId } = requireSessionUser(context);
      const request = { name, homeCell, mustVerifyEmail: signUpLinkOf === null };
      const made = await createOwnOrganisation(tx, personAuditContext(context), userId, request);
      return { body: toWireMembership(made), resource: { kind: 'organisation', id: made.organisation.id } };
    }),
  );
}

function serveInvitations(routes: PeopleRoutes): void {
  const { server, operations, db, invitationsUrl: link, refuseLinkOf, signUpLinkOf } = routes;
  server.serve(operations.listInvitations, async ({ params, query: { limit, cursor }, context }) => {
    const orgId = requireOwnOrgId(context, params.organisationId, 'ORGANISATION_NOT_FOUND');
    const rows = await listUnansweredInvitations(db, orgId, {
      limit,
      after: positionFromCursor('inv', cursor),
    });
    const now = db.clock.now();
    return pageById(rows, limit, (invitation) => toWireInvitation(invitation, now));
  });

  server.serve(operations.inviteMember, ({ params, body, context, transact }) => {
    requireOwnOrgId(context, params.organisationId, 'ORGANISATION_NOT_FOUND');
    return transact({ name: 'invite member', isolation: readCommitted }, async (tx) => {
      const refuseLink = refuseLinkOf?.(body.email) ?? null;
      const invitation = await inviteMember(tx, callContextOf(context), { ...body, link, refuseLink });
      const signUpLink = signUpLinkOf === null ? null : signUpLinkOf(invitation);
      return {
        body: { ...toWireInvitation(invitation, tx.clock.now()), link: signUpLink },
        resource: { kind: 'invitation', id: invitation.id },
      };
    });
  });

  server.serve(operations.cancelInvitation, ({ params, context, transact }) => {
    requireOwnOrgId(context, params.organisationId, 'INVITATION_NOT_FOUND');
    const id = requireInvitationId(params.invitationId);
    return transact({ name: 'cancel invitation', isolation: readCommitted }, async (tx) => {
      await cancelInvitation(tx, callContextOf(context), id);
      return { body: undefined };
    });
  });
}

function serveInvitationAnswers({ server, operations, db, isSecretOf }: PeopleRoutes): void {
  server.serve(operations.listMyInvitations, async ({ query: { limit, cursor }, context }) => {
    const { email } = requireSessionUser(context);
    const page = { limit, after: positionFromCursor('inv', cursor) };
    return pageById(await listOpenInvitations(db, email, db.clock.now(), page), limit, toWireOwnInvitation);
  });

  const proofBy = (secret: string): EmailProof =>
    isSecretOf === null ? 'mail' : (invitation) => isSecretOf(invitation, secret);

  server.serve(operations.acceptInvitation, ({ params, body: { secret = '' }, context, transact }) =>
    transact({ name: 'accept invitation', isolation: readCommitted }, async (tx) => {
      const { userId } = requireSessionUser(context);
      const id = requireInvitationId(params.invitationId);
      const membership = await acceptInvitation(tx, personAuditContext(context), userId, id, proofBy(secret));
      return { body: toWireMembership(membership) };
    }),
  );

  server.serve(operations.declineInvitation, ({ params, body: { secret = '' }, context, transact }) =>
    transact({ name: 'decline invitation', isolation: readCommitted }, async (tx) => {
      const { userId } = requireSessionUser(context);
      const id = requireInvitationId(params.invitationId);
      await declineInvitation(tx, personAuditContext(context), userId, id, proofBy(secret));
      return { body: undefined };
    }),
  );
}

function requireInvitationId(text: string): InvitationId {
  const id = parseId('inv', text);
  if (id === null) throw new Fault('INVITATION_NOT_FOUND');
  return id;
}
