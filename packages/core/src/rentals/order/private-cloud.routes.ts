import type { Contract } from '@millrace/contract';
import { Fault } from '@millrace/platform/fault';
import { requirePrincipal, type HttpServer } from '@millrace/platform/http';
import { parseId } from '@millrace/platform/ids';
import { operatorAuditContext, readCommitted } from '../../identity/index.ts';
import type { RunOrder } from './order-runner.ts';
import { createPrivateCloud, toPrivateCloudRequest } from './private-cloud.service.ts';
import { readWrittenRecord } from '../read/rental-queries.service.ts';
import { toWireRental } from '../read/rentals.wire.ts';

interface PrivateCloudsRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly ordering: RunOrder;
}

export function servePrivateClouds({ server, operations, ordering }: PrivateCloudsRoutes): void {
  server.serve(operations.adminCreatePrivateCloudRental, ({ body, context, transact }) => {
    const orgId = parseId('org', body.organisationId);
    if (orgId === null) throw new Fault('ORGANISATION_NOT_FOUND');
    return ordering(requirePrincipal(context), (wireId, use) =>
      transact({ name: 'create private cloud', isolation: readCommitted }, async (tx) => {
        const request = toPrivateCloudRequest(body, orgId, tx.clock.now());
        const { mode } = await createPrivateCloud(tx, operatorAuditContext(context), request, wireId);
        use();
        const record = await readWrittenRecord(tx, { orgId, mode }, wireId);
        return {
          body: toWireRental(record, tx.clock.now()),
          resource: { kind: 'rental', id: String(wireId) },
        };
      }),
    );
  });
}
