import type { Contract } from '@millrace/contract';
import { Fault } from '@millrace/platform/fault';
import { requirePrincipal, type HttpServer } from '@millrace/platform/http';
import { parseId } from '@millrace/platform/ids';
import { operatorAuditContext, readCommitted } from '../../identity/index.ts';
import type { RunOrder } from './order-runner.ts';
import { createPrivateCloud, toPrivateCloudRequest } from './private-cloud.service.ts';
import { readRentalRecord } from '../read/rental-queries.service.ts';
import { toWireRental } from '../read/rentals.wire.ts';

/** Operators: handing over what is run under a contract. */
export function servePrivateClouds({
  server,
  operations,
  ordering,
}: {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly ordering: RunOrder;
}): void {
  server.serve(operations.adminCreatePrivateCloudRental, ({ body, context, transact }) => {
    const orgId = parseId('org', body.organisationId);
    if (orgId === null) throw new Fault('ORGANISATION_NOT_FOUND');
    return ordering(requirePrincipal(context), (wireId, use) =>
      transact({ name: 'create private cloud', isolation: readCommitted }, async (tx) => {
        const request = toPrivateCloudRequest(body, orgId, tx.clock.now());
        const { mode } = await createPrivateCloud(tx, operatorAuditContext(context), request, wireId);
        const now = tx.clock.now();
        const record = await readRentalRecord(tx, { orgId, mode }, wireId, now);
        if (record === null) throw new Error(`Rental ${wireId} was created and is not there.`);
        use();
        return { body: toWireRental(record, now), resource: { kind: 'rental', id: String(wireId) } };
      }),
    );
  });
}
