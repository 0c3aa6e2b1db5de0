import type { Reader, Tables, Tx } from '@millrace/platform/db';
import {
  fromUuid,
  toUuid,
  type EnrolmentId,
  type NodeId,
  type OrgId,
  type SupplierId,
} from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { sql, type Updateable } from 'kysely';
import { organisationStatus } from '../../identity/index.ts';
import type { MachineApproval, RecentPrice, SupplierMachine } from './machines.ts';
import type { SupplierPageRequest } from '../account/suppliers.store.ts';

/** SQL of suppliers' machines as suppliers and operators see them. Their hardware is stored by the fleet. */

function machinesQuery(reader: Reader) {
  return reader.kysely
    .selectFrom('supplier_machines as machine')
    .innerJoin('suppliers as supplier', 'supplier.id', 'machine.supplier_id')
    .select([
      'machine.id',
      'machine.supplier_id',
      'machine.org_id',
      'machine.cluster_id',
      'machine.node_id',
      'machine.name',
      'machine.cluster_name',
      'machine.region',
      'machine.stage',
      'machine.approval',
      'machine.approval_reason',
      'machine.listed',
      'machine.drained_at',
      'machine.price_nano_usd_per_gpu_hour',
      'machine.recent_price_nano_usd_per_gpu_hour',
      'machine.recent_price_until',
      'machine.joined_at',
      'supplier.status as supplier_status',
      organisationStatus('machine.org_id').as('organisation_status'),
    ])
    .where('machine.node_id', 'is not', null);
}

type MachineRow = Awaited<ReturnType<ReturnType<typeof machinesQuery>['execute']>>[number];

function toMachine(row: MachineRow): SupplierMachine {
  const { node_id: nodeId, cluster_id: clusterId, price_nano_usd_per_gpu_hour: price } = row;
  // A check of the table ensures that a row with a node has a cluster.
  if (nodeId === null || clusterId === null) throw new Error(`Machine ${row.id} has no node or no cluster.`);
  return {
    id: fromUuid('enr', row.id),
    nodeId: fromUuid('nod', nodeId),
    clusterId: fromUuid('cls', clusterId),
    supplierId: fromUuid('sup', row.supplier_id),
    orgId: fromUuid('org', row.org_id),
    name: row.name,
    clusterName: row.cluster_name,
    region: row.region,
    stage: row.stage,
    approval: row.approval,
    approvalReason: row.approval_reason,
    listed: row.listed,
    drainedAt: row.drained_at,
    pricePerGpuHour: price === null ? null : nanoUsd(price),
    recentPrice: toRecentPrice(row.recent_price_nano_usd_per_gpu_hour, row.recent_price_until),
    joinedAt: row.joined_at,
    supplierStatus: row.supplier_status,
    isOrganisationActive: row.organisation_status === 'active',
  };
}

export function toRecentPrice(price: bigint | null, until: Date | null): RecentPrice | null {
  return price === null || until === null ? null : { pricePerGpuHour: nanoUsd(price), until };
}

/** Includes withdrawn machines. */
export async function findMachine(db: Reader, orgId: OrgId, nodeId: NodeId): Promise<SupplierMachine | null> {
  const row = await machinesQuery(db)
    .where('machine.org_id', '=', toUuid(orgId))
    .where('machine.node_id', '=', toUuid(nodeId))
    .executeTakeFirst();
  return row === undefined ? null : toMachine(row);
}

/** For operators: not limited to one organisation. */
export async function findAnyMachine(reader: Reader, nodeId: NodeId): Promise<SupplierMachine | null> {
  const row = await machinesQuery(reader).where('machine.node_id', '=', toUuid(nodeId)).executeTakeFirst();
  return row === undefined ? null : toMachine(row);
}

/**
 * Locks a machine against enrolment, renting and other changes. Take this lock after those of organisation and
 * supplier, and before those of the fleet.
 */
export async function lockMachine(tx: Tx, orgId: OrgId, nodeId: NodeId): Promise<SupplierMachine | null> {
  await sql`
    select 1 from supplier_machines
     where org_id = ${toUuid(orgId)} and node_id = ${toUuid(nodeId)} for no key update
  `.execute(tx.kysely);
  return findMachine(tx, orgId, nodeId);
}

export interface MachineFilter {
  readonly orgId: OrgId | null;
  readonly supplierId: SupplierId | null;
  readonly approval: MachineApproval | null;
}

/** Newest first, without refused and withdrawn machines; returns one more than the limit if there are more. */
async function readMachinePage(
  reader: Reader,
  filter: MachineFilter,
  page: SupplierPageRequest<EnrolmentId>,
): Promise<readonly SupplierMachine[]> {
  let query = machinesQuery(reader).where('machine.stage', 'in', ['testing', 'enrolled']);
  if (filter.orgId !== null) query = query.where('machine.org_id', '=', toUuid(filter.orgId));
  if (filter.supplierId !== null) {
    // By organisation, for which the table has an index.
    const supplierId = toUuid(filter.supplierId);
    query = query.where('machine.org_id', '=', (of) =>
      of.selectFrom('suppliers').select('org_id').where('id', '=', supplierId),
    );
  }
  if (filter.approval !== null) query = query.where('machine.approval', '=', filter.approval);
  if (page.after !== null) query = query.where('machine.id', '<', toUuid(page.after));
  const rows = await query
    .orderBy('machine.id', 'desc')
    .limit(page.limit + 1)
    .execute();
  return rows.map(toMachine);
}

export function listMachines(
  reader: Reader,
  orgId: OrgId,
  page: SupplierPageRequest<EnrolmentId>,
): Promise<readonly SupplierMachine[]> {
  return readMachinePage(reader, { orgId, supplierId: null, approval: null }, page);
}

/** For operators: machines of all suppliers. */
export function listAllMachines(
  reader: Reader,
  filter: Omit<MachineFilter, 'orgId'>,
  page: SupplierPageRequest<EnrolmentId>,
): Promise<readonly SupplierMachine[]> {
  return readMachinePage(reader, { ...filter, orgId: null }, page);
}

type MachineUpdate = Updateable<Tables['supplier_machines']>;

/** The caller holds the lock. The version makes concurrent enrolment steps discard their outcome. */
async function updateMachineRow(tx: Tx, machine: SupplierMachine, change: MachineUpdate): Promise<void> {
  await tx.kysely
    .updateTable('supplier_machines')
    .set(change)
    .set((now) => ({ version: now('version', '+', 1) }))
    .where('org_id', '=', toUuid(machine.orgId))
    .where('id', '=', toUuid(machine.id))
    .execute();
}

export function setMachineListing(
  tx: Tx,
  machine: SupplierMachine,
  offer: Pick<SupplierMachine, 'listed' | 'pricePerGpuHour' | 'recentPrice'>,
): Promise<void> {
  return updateMachineRow(tx, machine, {
    listed: offer.listed,
    price_nano_usd_per_gpu_hour: offer.pricePerGpuHour,
    recent_price_nano_usd_per_gpu_hour: offer.recentPrice?.pricePerGpuHour ?? null,
    recent_price_until: offer.recentPrice?.until ?? null,
  });
}

export function setDrained(tx: Tx, machine: SupplierMachine, at: Date | null): Promise<void> {
  return updateMachineRow(tx, machine, { drained_at: at });
}

export function setApproval(
  tx: Tx,
  machine: SupplierMachine,
  approval: MachineApproval,
  reason: string,
): Promise<void> {
  return updateMachineRow(tx, machine, { approval, approval_reason: reason });
}

export function setWithdrawn(tx: Tx, machine: SupplierMachine): Promise<void> {
  return updateMachineRow(tx, machine, { stage: 'withdrawn', listed: false, withdrawn_at: tx.clock.now() });
}
