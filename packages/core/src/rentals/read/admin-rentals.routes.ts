import type { ResponseBody, Contract } from '@millrace/contract';
import type { Db } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { HttpServer } from '@millrace/platform/http';
import { parseId, toUuid } from '@millrace/platform/ids';
import { pageById, positionFromCursor } from '../../identity/index.ts';
import { listAllRentals, type AdminRental } from './admin-rentals.store.ts';

type WireAdminRental = ResponseBody<Contract['operations']['adminListRentals']>['items'][number];

interface AdminRentalsRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
}

export function serveAdminRentals({ server, operations, db }: AdminRentalsRoutes): void {
  server.serve(operations.adminListRentals, async ({ query }) => {
    const { limit, cursor, status = null, mode = null } = query;
    const page = {
      orgId: parseOptionalId('org', query.organisationId),
      nodeId: parseOptionalId('nod', query.nodeId),
      status,
      mode,
      after: positionFromCursor('rnt', cursor),
      limit,
    };
    return pageById(await listAllRentals(db, page), limit, toWireAdminRental);
  });
}

function parseOptionalId<Kind extends 'org' | 'nod'>(kind: Kind, text: string | undefined) {
  if (text === undefined) return null;
  const id = parseId(kind, text);
  // The schema checks the format, but the value may exceed the range of an id.
  if (id === null) throw new Fault('VALIDATION_FAILED');
  return id;
}

function toWireAdminRental(rental: AdminRental): WireAdminRental {
  return {
    id: rental.wireId,
    externalId: toUuid(rental.id),
    kind: rental.kind,
    organisationId: rental.orgId,
    organisationName: rental.orgName,
    mode: rental.mode,
    name: rental.name,
    providerId: rental.providerId,
    region: rental.region,
    gpuType: rental.gpuType,
    gpuCount: rental.gpuCount,
    nodeIds: [...rental.nodeIds],
    status: rental.status,
    power: rental.power,
    gpuHeld: rental.gpuHeld,
    statusReason: rental.statusReason,
    statusSince: rental.statusSince.toISOString(),
    createdAt: rental.createdAt.toISOString(),
    startedAt: rental.startedAt?.toISOString() ?? null,
    endedAt: rental.endedAt?.toISOString() ?? null,
  };
}
