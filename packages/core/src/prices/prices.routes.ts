import type { Contract } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { HttpServer } from '@millrace/platform/http';
import { parseId, type OrgId } from '@millrace/platform/ids';
import {
  findOrganisation,
  operatorAuditContext,
  pageById,
  positionFromCursor,
  readCommitted,
} from '../identity/index.ts';
import {
  createEntitlement,
  createPrice,
  createReserveOption,
  endPrice,
  revokeEntitlement,
} from './prices.service.ts';
import { listEntitlements, listPrices, listReserveOptions } from './prices.store.ts';
import { fromWireSubject, toWireEntitlement, toWirePrice, toWireReserveOption } from './prices.wire.ts';

export interface PriceRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly clock: Timer;
}

/** Operator routes for prices, reserve options and entitlements. */
export function servePrices(routes: PriceRoutes): void {
  servePriceList(routes);
  serveReserveOptions(routes);
  serveEntitlements(routes);
}

function servePriceList({ server, operations, db }: PriceRoutes): void {
  server.serve(operations.adminListPrices, async ({ query }) => {
    const { limit, cursor } = query;
    const at = parseDateOr(query.at, null);
    const orgId = query.organisationId === undefined ? null : requireOrgId(query.organisationId);
    const rows = await listPrices(db, { at, orgId }, { limit, after: positionFromCursor('prc', cursor) });
    return pageById(rows, limit, toWirePrice);
  });

  server.serve(operations.adminCreatePrice, ({ body, context, transact }) =>
    transact({ name: 'create price', isolation: readCommitted }, async (tx) => {
      const { unit, priceNanoUsd, reason, organisationId } = body;
      const price = await createPrice(tx, operatorAuditContext(context), {
        orgId: organisationId == null ? null : requireOrgId(organisationId),
        subject: fromWireSubject(body.subject),
        unit,
        priceNanoUsd,
        validFrom: new Date(body.validFrom),
        validUntil: parseDateOr(body.validUntil, null),
        reason,
      });
      return { body: toWirePrice(price), resource: { kind: 'price', id: price.id } };
    }),
  );

  server.serve(operations.adminEndPrice, ({ params, body, context, transact }) =>
    transact({ name: 'end price', isolation: readCommitted }, async (tx) => {
      const id = parseId('prc', params.priceId);
      if (id === null) throw new Fault('PRICE_NOT_FOUND');
      const price = await endPrice(tx, operatorAuditContext(context), id, body.reason);
      return { body: toWirePrice(price), resource: { kind: 'price', id } };
    }),
  );
}

function serveReserveOptions({ server, operations, db }: PriceRoutes): void {
  server.serve(operations.adminListReserveOptions, async ({ query }) => {
    const { limit, cursor } = query;
    const rows = await listReserveOptions(db, { limit, after: positionFromCursor('rso', cursor) });
    return pageById(rows, limit, toWireReserveOption);
  });

  server.serve(operations.adminCreateReserveOption, ({ body, context, transact }) =>
    transact({ name: 'create reserve option', isolation: readCommitted }, async (tx) => {
      const { reason, ...fields } = body;
      const option = await createReserveOption(tx, { ...operatorAuditContext(context), reason }, fields);
      return { body: toWireReserveOption(option), resource: { kind: 'reserve_option', id: option.id } };
    }),
  );
}

function serveEntitlements({ server, operations, db }: PriceRoutes): void {
  server.serve(operations.adminListEntitlements, async ({ params, query }) => {
    const orgId = requireOrgId(params.organisationId);
    if ((await findOrganisation(db, orgId)) === null) throw new Fault('ORGANISATION_NOT_FOUND');
    const { limit, cursor } = query;
    const page = { limit, after: positionFromCursor('ent', cursor) };
    return pageById(await listEntitlements(db, orgId, db.clock.now(), page), limit, toWireEntitlement);
  });

  server.serve(operations.adminCreateEntitlement, ({ params, body, context, transact }) =>
    transact({ name: 'create entitlement', isolation: readCommitted }, async (tx) => {
      const orgId = requireOrgId(params.organisationId);
      const entitlement = await createEntitlement(tx, operatorAuditContext(context), orgId, {
        ...body,
        validFrom: parseDateOr(body.validFrom, null),
        validUntil: parseDateOr(body.validUntil, null),
      });
      return {
        body: toWireEntitlement(entitlement),
        resource: { kind: 'entitlement', id: entitlement.id },
      };
    }),
  );

  server.serve(operations.adminRevokeEntitlement, ({ params, query, context, transact }) =>
    transact({ name: 'revoke entitlement', isolation: readCommitted }, async (tx) => {
      const id = parseId('ent', params.entitlementId);
      const orgId = parseId('org', params.organisationId);
      if (id === null || orgId === null) throw new Fault('ENTITLEMENT_NOT_FOUND');
      const cause = { ...operatorAuditContext(context), reason: query.reason };
      await revokeEntitlement(tx, cause, orgId, id);
      return { body: undefined };
    }),
  );
}

function requireOrgId(text: string): OrgId {
  const id = parseId('org', text);
  if (id === null) throw new Fault('ORGANISATION_NOT_FOUND');
  return id;
}

function parseDateOr<T>(text: string | null | undefined, otherwise: T): Date | T {
  return text == null ? otherwise : new Date(text);
}
