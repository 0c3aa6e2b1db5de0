import type { Db } from '@millrace/platform/db';
import {
  fromUuid,
  toUuid,
  type ClusterId,
  type EnrolmentId,
  type NodeId,
  type OrgId,
  type SupplierId,
} from '@millrace/platform/ids';
import { sql } from 'kysely';
import { testIds } from './builders.ts';
import { insertFleet, type FleetOptions } from './insert-fleet.ts';

/** A supplier as an operator's approval leaves it. */
export interface SupplierOptions {
  readonly orgId: OrgId;
  readonly status?: 'applied' | 'approved' | 'rejected' | 'suspended';
  /** The operator's fee per charge in ppm; 10 % by default. */
  readonly feePpm?: number;
}

/** Makes the organisation a supplier with this status, whatever it was before. */
export async function insertSupplier(db: Db, options: SupplierOptions): Promise<SupplierId> {
  const { orgId, status = 'approved', feePpm = 100_000 } = options;
  const at = new Date();
  const approvedAt = status === 'approved' || status === 'suspended' ? at : null;
  return db.transaction({ name: 'insert a supplier', isolation: 'read committed' }, async ({ kysely }) => {
    const { rows } = await sql<{ id: string }>`
      insert into suppliers (id, org_id, name, about, status, fee_ppm, applied_at, approved_at, updated_at)
      values (${toUuid(testIds.next('sup'))}, ${toUuid(orgId)}, 'planted', '', ${status}, ${feePpm}, ${at},
              ${approvedAt}, ${at})
      on conflict (org_id) do update set status = excluded.status, fee_ppm = excluded.fee_ppm,
              approved_at = coalesce(suppliers.approved_at, excluded.approved_at)
      returning id`.execute(kysely);
    if (approvedAt !== null) {
      await sql`update organisations set supplier_since = coalesce(supplier_since, ${at})
        where id = ${toUuid(orgId)}`.execute(kysely);
    }
    const [row] = rows;
    if (row === undefined) throw new Error('no supplier was inserted');
    return fromUuid('sup', row.id);
  });
}

async function findOrInsert(db: Db, orgId: OrgId): Promise<SupplierId> {
  const { rows } = await sql<{ id: string }>`
    select id from suppliers where org_id = ${toUuid(orgId)}`.execute(db.kysely);
  const [row] = rows;
  return row === undefined ? insertSupplier(db, { orgId }) : fromUuid('sup', row.id);
}

/** The provider of suppliers' machines, as the operator's settings create it. */
export async function insertMarketplaceProvider(db: Db, region = 'us-central-1'): Promise<void> {
  const at = new Date();
  await db.transaction({ name: 'insert a provider', isolation: 'read committed' }, async ({ kysely }) => {
    await sql`insert into providers (id, variant, driver, mode, updated_at)
      values ('marketplace', 'V1', 'incus', 'live', ${at}) on conflict do nothing`.execute(kysely);
    await sql`insert into provider_regions (provider_id, region, custom_ports, updated_at)
      values ('marketplace', ${region}, true, ${at}) on conflict do nothing`.execute(kysely);
  });
}

export interface SupplierMachineOptions extends Omit<FleetOptions, 'nodes' | 'offer' | 'mode'> {
  readonly orgId: OrgId;
  readonly clusterName?: string;
  readonly stage?: 'testing' | 'enrolled' | 'withdrawn';
  readonly approval?: 'pending' | 'approved' | 'rejected';
  readonly listed?: boolean;
  readonly pricePerGpuHourNanoUsd?: bigint | null;
}

export interface InsertedMachine {
  readonly supplierId: SupplierId;
  readonly machineId: EnrolmentId;
  readonly clusterId: ClusterId;
  readonly nodeId: NodeId;
}

/** Results of the self-test in the format of enrolment. */
const tests = {
  cpu: { count: 192, mibPerSecond: 900 },
  memory: { mibPerSecond: 9_000 },
  disk: { mibPerSecond: 1_500 },
  network: { downMbps: 9_000, upMbps: 9_000 },
  gpu: { count: 8, clockMhz: null, details: [] },
  hardware: { gpus: [], cpuCount: 192, ramMb: 2_097_152 },
};

/**
 * A supplier's machine as enrolment leaves it, without an engine: by default enrolled, approved and listed for two
 * dollars. Makes its organisation a supplier if necessary; the organisation must have a member.
 */
export async function insertSupplierMachine(
  db: Db,
  options: SupplierMachineOptions,
): Promise<InsertedMachine> {
  const {
    orgId,
    clusterName = 'planted',
    stage = 'enrolled',
    approval = 'approved',
    listed = true,
    ...fleet
  } = options;
  const price =
    options.pricePerGpuHourNanoUsd === undefined ? 2_000_000_000n : options.pricePerGpuHourNanoUsd;
  const supplierId = await findOrInsert(db, orgId);
  const { clusterId, nodeIds } = await insertFleet(db, { ...fleet, nodes: 1, offer: 'marketplace' });
  const [nodeId] = nodeIds;
  if (nodeId === undefined) throw new Error('no node was inserted');
  const machineId = testIds.next('enr');
  const token = toUuid(testIds.next('jtk'));
  const at = new Date();
  const isOver = stage === 'withdrawn' ? at : null;
  const isAtWork = stage === 'testing' ? at : null;
  await db.transaction({ name: 'insert a machine', isolation: 'read committed' }, async ({ kysely }) => {
    const { rows } = await sql<{ region: string }>`
      update clusters set supplier_org_id = ${toUuid(orgId)}, origin = 'supplier' where id = ${toUuid(clusterId)}
      returning region`.execute(kysely);
    const region = rows[0]?.region ?? 'us-central-1';
    await sql`
      insert into supplier_join_tokens (id, supplier_id, org_id, description, cluster_name, region, max_machines,
        used_machines, secret_hash, expires_at, created_by, created_at)
      select ${token}, ${toUuid(supplierId)}, ${toUuid(orgId)}, '', ${clusterName}, ${region}, 1, 1,
             sha256(convert_to(${token}, 'UTF8')), ${at}, member.user_id, ${at}
        from members as member where member.org_id = ${toUuid(orgId)} limit 1`.execute(kysely);
    await sql`
      insert into supplier_machines (id, supplier_id, org_id, join_token_id, cluster_id, node_id, name, cluster_name,
        region, endpoint, server_certificate, server_fingerprint, stage, next_try_at, deadline_at, tests, tested_at, approval, listed,
        price_nano_usd_per_gpu_hour, joined_at, enrolled_at, withdrawn_at)
      values (${toUuid(machineId)}, ${toUuid(supplierId)}, ${toUuid(orgId)}, ${token}, ${toUuid(clusterId)},
        ${toUuid(nodeId)}, 'planted', ${clusterName}, ${region}, ${`https://${token}.example.com:8443`}, 'planted',
        encode(sha256(convert_to(${token}, 'UTF8')), 'hex'), ${stage}, ${isAtWork}, ${isAtWork},
        ${JSON.stringify(tests)}, ${at}, ${approval}, ${listed && price !== null}, ${price}, ${at}, ${at},
        ${isOver})`.execute(kysely);
  });
  return { supplierId, machineId, clusterId, nodeId };
}
