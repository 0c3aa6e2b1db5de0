import type { Contract } from '@millrace/contract';
import type { Db, Reader } from '@millrace/platform/db';
import { invalidField } from '@millrace/platform/fault';
import { requirePrincipal, type HttpServer } from '@millrace/platform/http';
import { parseId, type NodeId, type OrgId } from '@millrace/platform/ids';
import { parseNanoUsd } from '@millrace/platform/money';
import { findNodes } from '../../fleet/index.ts';
import {
  callContextOf,
  operatorAuditContext,
  pageById,
  positionFromCursor,
  readCommitted,
} from '../../identity/index.ts';
import { readMachineHistory } from '../reliability/quarantine-evidence.store.ts';
import { readReliability } from '../reliability/reliability.store.ts';
import { toWireHistory } from '../reliability/reliability.wire.ts';
import type { PriceRules, SupplierMachine } from './machines.ts';
import {
  drainMachine,
  reviewMachine,
  machineNotFound,
  resumeMachine,
  updateMachine,
  withdrawMachine,
} from './machines.service.ts';
import { findAnyMachine, findMachine, listAllMachines, listMachines } from './machines.store.ts';
import { toWireMachine } from './machines.wire.ts';

const HISTORY_ENTRIES = 100;

export interface SupplierMachineRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly priceRules: PriceRules;
}

export function serveSupplierMachines(routes: SupplierMachineRoutes): void {
  serveMachines(routes);
  serveMachineActions(routes);
  serveMachineReviews(routes);
}

function serveMachines({ server, operations, db, priceRules }: SupplierMachineRoutes): void {
  server.serve(operations.supplierListMachines, async ({ query: { limit, cursor }, context }) => {
    const { orgId } = requirePrincipal(context);
    const page = { limit, after: positionFromCursor('enr', cursor) };
    return pageOfMachines(db, await listMachines(db, orgId, page), limit);
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

function serveMachineActions({ server, operations }: SupplierMachineRoutes): void {
  for (const [operation, name, apply] of [
    [operations.supplierDrainMachine, 'drain machine', drainMachine],
    [operations.supplierResumeMachine, 'resume machine', resumeMachine],
  ] as const) {
    server.serve(operation, ({ params, context, transact }) =>
      transact({ name, isolation: readCommitted }, async (tx) => {
        const nodeId = requireNodeId(params.machineId);
        const call = callContextOf(context);
        await apply(tx, call, nodeId);
        return machineEffect(nodeId, await readMachine(tx, call.orgId, nodeId));
      }),
    );
  }

  server.serve(operations.supplierWithdrawMachine, ({ params, context, transact }) =>
    transact({ name: 'withdraw machine', isolation: readCommitted }, async (tx) => {
      await withdrawMachine(tx, callContextOf(context), requireNodeId(params.machineId));
      return { body: undefined };
    }),
  );
}

function serveMachineReviews({ server, operations, db }: SupplierMachineRoutes): void {
  server.serve(operations.adminListMachines, async ({ query }) => {
    const { limit, approval = null } = query;
    const supplierId = query.supplierId === undefined ? null : parseId('sup', query.supplierId);
    const page = { limit, after: positionFromCursor('enr', query.cursor) };
    return pageOfMachines(db, await listAllMachines(db, { supplierId, approval }, page), limit);
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

/** The number of statements does not depend on the number of machines. */
async function pageOfMachines(reader: Reader, machines: readonly SupplierMachine[], limit: number) {
  const nodeIds = machines.map(({ nodeId }) => nodeId);
  const nodes = await findNodes(reader, nodeIds);
  const ids = machines.map(({ id }) => id);
  // The listing has already limited the machines to the caller's.
  const trust = await readReliability(reader, null, ids);
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
  if (amount === null) throw invalidField(['pricePerGpuHourNanoUsd'], 'is too large');
  return amount;
}
