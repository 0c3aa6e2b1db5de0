import { isIP } from 'node:net';
import type { Contract, Reason } from '@millrace/contract';
import type { Db } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { actorOf, decodeCursor, requireSessionUser, requirePrincipal, toPage } from '@millrace/platform/http';
import type { HttpServer, Page, RequestContext } from '@millrace/platform/http';
import { idKinds, parseId, type IdKind, type IdOf, type OrgId } from '@millrace/platform/ids';
import { z } from 'zod';
import type { CallContext } from './authorize-caller.service.ts';
import type { AuditContext } from './model/identity.ts';

/** Dependencies that all routes of this feature share. */
export interface RouteDeps {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
}

export const readCommitted = 'read committed' as const;

export function auditContextOf(context: RequestContext): AuditContext {
  const principal = requirePrincipal(context);
  return { actor: actorOf(principal), mode: principal.mode, requestId: context.requestId, ip: ipOf(context) };
}

/** The actor is a user of the installation, not a key of an organisation. */
export function operatorAuditContext(context: RequestContext): AuditContext {
  const { userId } = requirePrincipal(context);
  return {
    actor: { kind: 'operator', id: userId },
    mode: 'live',
    requestId: context.requestId,
    ip: ipOf(context),
  };
}

export function callContextOf(context: RequestContext): CallContext {
  const { orgId, keyId } = requirePrincipal(context);
  return { orgId, keyId, cause: auditContextOf(context) };
}

/** A session user without an organisation. */
export function personAuditContext(context: RequestContext): AuditContext {
  const { userId } = requireSessionUser(context);
  return {
    actor: { kind: 'user', id: userId },
    mode: 'live',
    requestId: context.requestId,
    ip: ipOf(context),
  };
}

/** The organisation in the path must be the caller's own; any other gets the response for an unknown one. */
export function requireOwnOrgId(context: RequestContext, organisationId: string, reason: Reason): OrgId {
  const { orgId } = requirePrincipal(context);
  if (organisationId !== orgId) throw new Fault(reason);
  return orgId;
}

function ipOf(context: RequestContext): string | null {
  return isIP(context.clientIp) === 0 ? null : context.clientIp;
}

function cursorShapeOf(kind: IdKind) {
  return z.object({
    id: z.string().refine((text) => parseId(kind, text) !== null, 'belongs to another list'),
  });
}

// Created once per list: creating a schema costs a hundred times as much as using it.
const cursorShapes = new Map(idKinds.map((kind) => [kind, cursorShapeOf(kind)] as const));

/** The page starts after the id in the cursor. A cursor of another list is rejected. */
export function positionFromCursor<K extends IdKind>(kind: K, cursor: string | undefined): IdOf<K> | null {
  if (cursor === undefined) return null;
  const { id } = decodeCursor(cursor, cursorShapes.get(kind) ?? cursorShapeOf(kind));
  return parseId(kind, id);
}

export function pageById<Row extends { readonly id: string }, Item>(
  rows: readonly Row[],
  limit: number,
  toItem: (row: Row) => Item,
): Page<Item> {
  return toPage({ rows, limit, toItem, positionOf: (row) => ({ id: row.id }) });
}
