import type { Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type NodeId } from '@millrace/platform/ids';
import { nanoUsd, ppm } from '@millrace/platform/money';
import { sql } from 'kysely';
import { marketplaceNodes } from '../../fleet/index.ts';
import { organisationStatus } from '../../identity/index.ts';
import { priceFromSettings, rentalPrice, type ListedMachine, type MachineSupplier } from './machines.ts';
import { toRecentPrice } from './machines.store.ts';

interface ListedRow {
  node_id: string;
  cluster_id: string;
  cluster_name: string;
  region: string;
  mode: Mode;
  settings: unknown;
  price: bigint | null;
  recent_price: bigint | null;
  recent_price_until: Date | null;
  shown_as: string | null;
  supplier_id: string | null;
  org_id: string | null;
  fee_ppm: number | null;
}

/**
 * Nodes that are for rent, by the rules for listing and renting. A supplier's machine is enrolled, approved, listed and
 * priced, and its supplier is approved. A machine of the operator has a price in the settings of its cluster.
 */
export async function readListedMachines(
  reader: Reader,
  nodeIds: readonly NodeId[],
): Promise<ReadonlyMap<NodeId, ListedMachine>> {
  const rows = await selectListedRows(reader, nodeIds);
  const machines = rows.flatMap((row) => toListedMachine(row) ?? []);
  return new Map(machines.map((machine) => [machine.nodeId, machine]));
}

async function selectListedRows(reader: Reader, nodeIds: readonly NodeId[]): Promise<readonly ListedRow[]> {
  if (nodeIds.length === 0) return [];
  const { rows } = await sql<ListedRow>`
    select node.id as node_id, node.cluster_id, node.cluster_name, node.region, node.mode, node.settings,
           machine.price_nano_usd_per_gpu_hour as price,
           machine.recent_price_nano_usd_per_gpu_hour as recent_price, machine.recent_price_until,
           machine.cluster_name as shown_as, machine.supplier_id, machine.org_id, supplier.fee_ppm
      from ${marketplaceNodes} as node
      left join supplier_machines as machine
        on machine.node_id = node.id and machine.org_id = node.supplier_org_id
      left join suppliers as supplier on supplier.id = machine.supplier_id
     where node.id = any (${nodeIds.map(toUuid)}::uuid[])
       and (node.supplier_org_id is null
            or machine.stage = 'enrolled' and machine.approval = 'approved' and machine.listed
               and supplier.status = 'approved' and ${organisationStatus('machine.org_id')} = 'active')
  `.execute(reader.kysely);
  return rows;
}

/**
 * A machine to rent, at the lower of its present and recent price; null if it is not for rent. Share locks keep this
 * true until the transaction ends. Call it before locking the fleet or the ledger.
 */
export async function findListedMachine(tx: Tx, nodeId: NodeId): Promise<ListedMachine | null> {
  // A separate statement, so that the read below sees the state after the locks were taken.
  await sql`
    select 1 from supplier_machines as machine
      join suppliers as supplier on supplier.id = machine.supplier_id
     where machine.node_id = ${toUuid(nodeId)}
       for share of supplier, machine
  `.execute(tx.kysely);
  const [row] = await selectListedRows(tx, [nodeId]);
  const listed = row === undefined ? null : toListedMachine(row);
  if (row === undefined || listed === null) return null;
  const recent = toRecentPrice(row.recent_price, row.recent_price_until);
  return { ...listed, pricePerGpuHour: rentalPrice(listed.pricePerGpuHour, recent, tx.clock.now()) };
}

function toListedMachine(row: ListedRow): ListedMachine | null {
  const supplier = toSupplier(row);
  const price = supplier === null ? priceFromSettings(row.settings) : row.price;
  if (price === null) return null;
  return {
    nodeId: fromUuid('nod', row.node_id),
    clusterId: fromUuid('cls', row.cluster_id),
    clusterName: row.shown_as ?? row.cluster_name,
    region: row.region,
    mode: row.mode,
    pricePerGpuHour: nanoUsd(price),
    supplier,
  };
}

function toSupplier(row: ListedRow): MachineSupplier | null {
  const { supplier_id: id, org_id: orgId, fee_ppm: fee } = row;
  if (id === null || orgId === null || fee === null) return null;
  return { id: fromUuid('sup', id), orgId: fromUuid('org', orgId), feePpm: ppm(fee) };
}

/** Self-test results, as text for a prepared statement. Columns: node_id, tests. */
export const selfTestsText = '(select node_id, tests from supplier_machines)';
