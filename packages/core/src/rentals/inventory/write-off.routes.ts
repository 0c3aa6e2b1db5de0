import type { ResponseBody, Contract } from '@millrace/contract';
import { Fault } from '@millrace/platform/fault';
import type { HttpServer } from '@millrace/platform/http';
import { parseId } from '@millrace/platform/ids';
import { toWireNode } from '../../fleet/index.ts';
import { operatorAuditContext, readCommitted } from '../../identity/index.ts';
import { toWireAmount } from '../model/wire-amount.ts';
import { writeOffNode, writeOffRental, type WriteOff } from './write-off.service.ts';

type Operations = Contract['operations'];
type WireWriteOff = ResponseBody<Operations['adminWriteOffRental']>;

interface WriteOffsRoutes {
  readonly server: HttpServer;
  readonly operations: Operations;
}

export function serveWriteOffs({ server, operations }: WriteOffsRoutes): void {
  server.serve(operations.adminWriteOffRental, ({ params, body, context, transact }) =>
    transact({ name: 'write off rental', isolation: readCommitted }, async (tx) => {
      const request = { rentalId: params.rentalId, reason: body.reason };
      const done = await writeOffRental(tx, operatorAuditContext(context), request);
      return { body: toWireWriteOff(done), resource: { kind: 'rental', id: String(params.rentalId) } };
    }),
  );

  server.serve(operations.adminWriteOffNode, ({ params, body, context, transact }) =>
    transact({ name: 'write off node', isolation: readCommitted }, async (tx) => {
      const nodeId = parseId('nod', params.nodeId);
      if (nodeId === null) throw new Fault('NODE_NOT_FOUND');
      const cause = operatorAuditContext(context);
      const { node, rentals } = await writeOffNode(tx, cause, { nodeId, reason: body.reason });
      return {
        body: { node: toWireNode(node), rentals: rentals.map(toWireWriteOff) },
        resource: { kind: 'node', id: nodeId },
      };
    }),
  );
}

function toWireWriteOff({ receipt, writtenOff, left, nodes }: WriteOff): WireWriteOff {
  return {
    rentalId: receipt.rental.wireId,
    status: receipt.rental.status,
    machinesWrittenOff: writtenOff,
    machinesLeft: left,
    billingStoppedAt: receipt.billingStoppedAt?.toISOString() ?? null,
    finalCost: toWireAmount(receipt.finalCost),
    nodes: nodes.map(({ id, name, status }) => ({ id, name, status })),
  };
}
