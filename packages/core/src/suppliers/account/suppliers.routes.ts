import type { Contract } from '@millrace/contract';
import type { Db, Reader } from '@millrace/platform/db';
import { Fault, invalidField } from '@millrace/platform/fault';
import { requirePrincipal, type HttpServer } from '@millrace/platform/http';
import { parseId, type NodeId, type OrgId } from '@millrace/platform/ids';
import { fromPercentage, parseNanoUsd, secondsToMs } from '@millrace/platform/money';
import { findNodes } from '../../fleet/index.ts';
import {
  callContextOf,
  operatorAuditContext,
  pageById,
  positionFromCursor,
  readCommitted,
  type PublishKeyChange,
} from '../../identity/index.ts';
import { createJoinToken, revokeJoinToken } from './join-tokens.service.ts';
import { listJoinTokens } from './join-tokens.store.ts';
import type { PriceRules, SupplierMachine } from '../machines/machines.ts';
import {
  drainMachine,
  reviewMachine,
  machineNotFound,
  resumeMachine,
  updateMachine,
  withdrawMachine,
} from '../machines/machines.service.ts';
import { findAnyMachine, findMachine, listAllMachines, listMachines } from '../machines/machines.store.ts';
import { applyAsSupplier, reviewSupplier, type SupplierReview } from './suppliers.service.ts';
import { findSupplierOf, listSuppliers } from './suppliers.store.ts';
import { toWireMachine, toWireSupplier, toWireJoinToken } from './suppliers.wire.ts';
import { readMachineHistory } from '../reliability/quarantine-evidence.store.ts';
import { readReliability } from '../reliability/reliability.store.ts';
import { toWireHistory } from '../reliability/reliability.wire.ts';

/** What is shown of a machine's past. */
const HISTORY_ENTRIES = 100;

export interface SupplierRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  /** Tells the caches of keys that an organisation has become a supplier. */
  readonly announce: PublishKeyChange;
  /** The provider that suppliers' machines belong to. */
  readonly providerId: string;
  readonly priceRules: PriceRules;
}

/** Suppliers: their account, their machines and the tokens with which these join. Operators: who and what is let in. */
export function serveSuppliers(routes: SupplierRoutes): void {
  serveAccount(routes);
  serveMachines(routes);
  serveMachineActions(routes);
  serveJoinTokens(routes);
  serveSupplierReviews(routes);
  serveMachineReviews(routes);
}

function serveAccount({ server, operations, db }: SupplierRoutes): void {
  server.serve(operations.supplierApply, ({ body, context, transact }) =>
    transact({ name: 'apply to supply', isolation: readCommitted }, async (tx) => {
      const supplier = await applyAsSupplier(tx, callContextOf(context), body);
      return { body: toWireSupplier(supplier), resource: { kind: 'supplier', id: supplier.id } };
    }),
  );

  server.serve(operations.supplierGetAccount, async ({ context }) => {
    const supplier = await findSupplierOf(db, requirePrincipal(context).orgId);
    if (supplier === null) {
      throw new Fault('SUPPLIER_NOT_FOUND', {
        message: 'This organisation has not applied to be a supplier.',
        suggestion: 'Apply with POST /v2/supplier/application.',
      });
    }
    return toWireSupplier(supplier);
  });
}

function serveMachines({ server, operations, db, priceRules }: SupplierRoutes): void {
  server.serve(operations.supplierListMachines, async ({ query: { limit, cursor }, context }) => {
    const { orgId } = requirePrincipal(context);
    return pageOfMachines(
      db,
      await listMachines(db, orgId, { limit, after: positionFromCursor('enr', cursor) }),
      limit,
    );
  });

  server.serve(operations.supplierGetMachine, ({ params, context }) =>
    readMachine(db, requirePrincipal(context).orgId, requireNodeId(params.machineId)),
  );

  server.serve(operations.supplierGetMachineHistory, async ({ params, context }) => {
    const { orgId } = requirePrincipal(context);
    const nodeId = requireNodeId(params.machineId);
    if ((await findMachine(db, orgId, nodeId)) === null) throw machineNotFound();
    return toWireHistory(await readMachineHistory(db, orgId, nodeId, HISTORY_ENTRIES));
  });

  server.serve(operations.supplierUpdateMachine, ({ params, body, context, transact }) =>
    transact({ name: 'offer machine', isolation: readCommitted }, async (tx) => {
      const nodeId = requireNodeId(params.machineId);
      const { listed, pricePerGpuHourNanoUsd: price } = body;
      const change = {
        ...(listed === undefined ? {} : { listed }),
        ...(price === undefined ? {} : { pricePerGpuHour: requireNanoUsd(price) }),
      };
      const call = callContextOf(context);
      await updateMachine(tx, call, nodeId, change, priceRules);
      return { body: await readMachine(tx, call.orgId, nodeId) };
    }),
  );
}

function serveMachineActions({ server, operations }: SupplierRoutes): void {
  server.serve(operations.supplierDrainMachine, ({ params, context, transact }) =>
    transact({ name: 'drain machine', isolation: readCommitted }, async (tx) => {
      const nodeId = requireNodeId(params.machineId);
      const call = callContextOf(context);
      await drainMachine(tx, call, nodeId);
      return machineEffect(nodeId, await readMachine(tx, call.orgId, nodeId));
    }),
  );

  server.serve(operations.supplierResumeMachine, ({ params, context, transact }) =>
    transact({ name: 'resume machine', isolation: readCommitted }, async (tx) => {
      const nodeId = requireNodeId(params.machineId);
      const call = callContextOf(context);
      await resumeMachine(tx, call, nodeId);
      return machineEffect(nodeId, await readMachine(tx, call.orgId, nodeId));
    }),
  );

  server.serve(operations.supplierWithdrawMachine, ({ params, context, transact }) =>
    transact({ name: 'withdraw machine', isolation: readCommitted }, async (tx) => {
      await withdrawMachine(tx, callContextOf(context), requireNodeId(params.machineId));
      return { body: undefined };
    }),
  );
}

function serveJoinTokens({ server, operations, db, providerId }: SupplierRoutes): void {
  server.serve(operations.supplierListJoinTokens, async ({ query: { limit, cursor }, context }) => {
    const { orgId } = requirePrincipal(context);
    const rows = await listJoinTokens(db, orgId, { limit, after: positionFromCursor('jtk', cursor) });
    return pageById(rows, limit, toWireJoinToken);
  });

  server.serve(operations.supplierCreateJoinToken, ({ body, context, transact }) =>
    transact({ name: 'create join token', isolation: readCommitted }, async (tx) => {
      const { ttlSeconds, ...fields } = body;
      const expiresAt = new Date(tx.clock.nowMs() + secondsToMs(ttlSeconds));
      const { token, text } = await createJoinToken(
        tx,
        callContextOf(context),
        { ...fields, expiresAt },
        providerId,
      );
      return {
        body: { ...toWireJoinToken(token), token: text },
        resource: { kind: 'join-token', id: token.id },
      };
    }),
  );

  server.serve(operations.supplierRevokeJoinToken, ({ params, context, transact }) =>
    transact({ name: 'revoke join token', isolation: readCommitted }, async (tx) => {
      const id = parseId('jtk', params.joinTokenId);
      if (id === null) throw new Fault('JOIN_TOKEN_NOT_FOUND');
      await revokeJoinToken(tx, callContextOf(context), id);
      return { body: undefined };
    }),
  );
}

function serveSupplierReviews({ server, operations, db, announce }: SupplierRoutes): void {
  server.serve(operations.adminListSuppliers, async ({ query }) => {
    const { limit, status = null } = query;
    const rows = await listSuppliers(
      db,
      { status },
      { limit, after: positionFromCursor('sup', query.cursor) },
    );
    return pageById(rows, limit, toWireSupplier);
  });

  server.serve(operations.adminApproveSupplier, ({ params, body, context, transact }) =>
    transact({ name: 'approve supplier', isolation: readCommitted }, (tx) => {
      const feePpm = fromPercentage(body.feePercentage);
      if (feePpm === null) throw invalidField(['feePercentage'], 'must have at most four decimals');
      return applyReview(tx, params.supplierId, { reason: body.reason, feePpm }, context);
    }),
  );

  server.serve(operations.adminRejectSupplier, ({ params, body, context, transact }) =>
    transact({ name: 'reject supplier', isolation: readCommitted }, (tx) =>
      applyReview(tx, params.supplierId, { reason: body.reason, feePpm: null }, context),
    ),
  );

  async function applyReview(
    tx: Parameters<typeof reviewSupplier>[0],
    text: string,
    review: SupplierReview,
    context: Parameters<typeof operatorAuditContext>[0],
  ) {
    const id = parseId('sup', text);
    if (id === null) throw new Fault('SUPPLIER_NOT_FOUND');
    const supplier = await reviewSupplier(tx, { announce }, operatorAuditContext(context), id, review);
    return { body: toWireSupplier(supplier), resource: { kind: 'supplier', id } };
  }
}

function serveMachineReviews({ server, operations, db }: SupplierRoutes): void {
  server.serve(operations.adminListMachines, async ({ query }) => {
    const { limit, approval = null } = query;
    const supplierId = query.supplierId === undefined ? null : parseId('sup', query.supplierId);
    const rows = await listAllMachines(
      db,
      { supplierId, approval },
      { limit, after: positionFromCursor('enr', query.cursor) },
    );
    return pageOfMachines(db, rows, limit);
  });

  for (const [operation, approval] of [
    [operations.adminApproveMachine, 'approved'],
    [operations.adminRejectMachine, 'rejected'],
  ] as const) {
    server.serve(operation, ({ params, body, context, transact }) =>
      transact({ name: `machine ${approval}`, isolation: readCommitted }, async (tx) => {
        const nodeId = requireNodeId(params.machineId);
        await reviewMachine(tx, operatorAuditContext(context), nodeId, { approval, reason: body.reason });
        return machineEffect(nodeId, await withNode(tx, await findAnyMachine(tx, nodeId)));
      }),
    );
  }
}

async function readMachine(reader: Reader, orgId: OrgId, nodeId: NodeId) {
  return withNode(reader, await findMachine(reader, orgId, nodeId));
}

async function withNode(reader: Reader, machine: SupplierMachine | null) {
  if (machine === null) throw machineNotFound();
  const nodes = await findNodes(reader, [machine.nodeId]);
  const node = nodes.get(machine.nodeId);
  if (node === undefined) throw machineNotFound();
  const trust = await readReliability(reader, machine.orgId, [machine.id]);
  return toWireMachine(machine, node, trust.get(machine.id) ?? null);
}

/** As many statements as for one machine: one each for the nodes, their GPUs and what was measured of them. */
async function pageOfMachines(reader: Reader, machines: readonly SupplierMachine[], limit: number) {
  const nodes = await findNodes(
    reader,
    machines.map((machine) => machine.nodeId),
  );
  // Whose they are was asked when they were listed.
  const trust = await readReliability(
    reader,
    null,
    machines.map(({ id }) => id),
  );
  return pageById(machines, limit, (machine) => {
    const node = nodes.get(machine.nodeId);
    if (node === undefined) throw new Error(`Machine ${machine.id} has no node.`);
    return toWireMachine(machine, node, trust.get(machine.id) ?? null);
  });
}

function machineEffect<Body>(nodeId: NodeId, body: Body) {
  return { body, resource: { kind: 'machine', id: nodeId } };
}

function requireNodeId(text: string): NodeId {
  const id = parseId('nod', text);
  if (id === null) throw machineNotFound();
  return id;
}

function requireNanoUsd(text: string) {
  const amount = parseNanoUsd(text);
  if (amount === null) throw invalidField(['pricePerGpuHourNanoUsd'], 'is beyond any price');
  return amount;
}
