import { setFrozen } from '@millrace/core/ledger';
import { toUuid } from '@millrace/platform/ids';
import { eventually, insertSupplier, insertSupplierMachine, testIds } from '@millrace/testing';
import { credit, inTransaction, usd } from '../../packages/core/src/money.fixture.ts';
import { MOCK_REGION } from '../stack/mock-stack.ts';
import { createOwner, type Owner } from './accounts.ts';
import type { Call } from './api-call.ts';
import type { ConsoleStack } from './console-stack.ts';
import { rentFrom } from './supplier-earnings.ts';

/** Creates what the actions of dialogs need, such as a frozen account, a quarantined node and a requested payout. */
export interface ActionTargets {
  /** An organisation with a frozen account and a pending supplier application. */
  readonly tenantId: string;
  readonly suspendedId: string;
  readonly quarantinedNodeId: string;
  readonly attachedVolumeId: number;
}

interface Callers {
  readonly test: Call;
  readonly live: Call;
}

export async function seedActions(
  stack: ConsoleStack,
  { test, live }: Callers,
  targets: { readonly owner: Owner; readonly nodeIds: readonly string[]; readonly rentalId: number },
): Promise<ActionTargets> {
  const { owner, rentalId } = targets;
  const [nodeId = '', quarantinedNodeId = ''] = targets.nodeIds;
  await live('POST', `/v2/admin/nodes/${quarantinedNodeId}/quarantine`, { reason: 'Memory errors' });
  await announceMaintenance(live, nodeId);
  await seedEngine(live);
  await live('POST', `/v2/admin/organisations/${owner.orgId}/entitlements`, {
    maxDiscountPercentage: 10,
    gpuType: 'h100',
    reason: 'Contract of this year',
  });
  await seedSupplier(stack, owner);
  const tenantId = await seedTenant(stack, live, owner);
  await sellOut(test);
  return {
    tenantId,
    suspendedId: await seedSuspended(live, owner),
    quarantinedNodeId,
    attachedVolumeId: await seedAttachedVolume(stack, test, rentalId),
  };
}

const HOUR_MS = 3_600_000;
const inHours = (hours: number): string => new Date(Date.now() + hours * HOUR_MS).toISOString();

async function announceMaintenance(call: Call, nodeId: string): Promise<void> {
  await call('POST', '/v2/admin/maintenance-windows', {
    nodeIds: [nodeId],
    startsAt: inHours(48),
    endsAt: inHours(50),
    summary: 'Fan replacement',
  });
}

async function seedEngine(call: Call): Promise<void> {
  const model = 'quiet-chat';
  await call('POST', '/v2/admin/models', { name: model, modality: 'chat', ownedBy: 'mill' });
  await call('POST', '/v2/admin/deployments', {
    model,
    engine: 'vllm',
    address: 'http://127.0.0.1:9',
    region: 'us-central-1',
    enabled: false,
  });
}

/** A machine that awaits approval, and a usable join token. */
async function seedSupplier(stack: ConsoleStack, { orgId }: Owner): Promise<void> {
  await insertSupplierMachine(stack.db, {
    orgId,
    provider: 'marketplace',
    region: 'us-central-1',
    clusterName: 'second-rack',
    approval: 'pending',
    listed: false,
  });
  await stack.database.query(
    `insert into supplier_join_tokens (id, supplier_id, org_id, description, cluster_name, region, max_machines,
       used_machines, secret_hash, expires_at, created_by, created_at)
     select $1::uuid, supplier.id, supplier.org_id, 'Third rack', 'third-rack', 'us-central-1', 2, 0,
            sha256(convert_to($1::uuid::text, 'UTF8')), now() + interval '1 day', member.user_id, now()
       from suppliers as supplier join members as member on member.org_id = supplier.org_id
      where supplier.org_id = $2 limit 1`,
    [toUuid(testIds.next('jtk')), toUuid(orgId)],
  );
}

async function seedTenant(stack: ConsoleStack, call: Call, owner: Owner): Promise<string> {
  const { orgId } = await createOwner(stack, { name: 'Tom Tenant', organisation: 'East Mill' });
  await credit(stack, orgId, { amount: usd(100) });
  await rentFrom(stack, owner.orgId, orgId);
  await call('POST', '/v2/supplier/payouts', { amountNanoUsd: '4000000000' });
  await inTransaction(stack, (tx) => setFrozen(tx, orgId, 'live', true));
  await insertSupplier(stack.db, { orgId, status: 'applied' });
  return orgId;
}

async function seedSuspended(call: Call, owner: Owner): Promise<string> {
  const { id } = await call('POST', '/v2/admin/organisations', {
    name: 'Late Mill',
    owner: { email: `late-${owner.email}` },
  });
  await call('POST', `/v2/admin/organisations/${id}/suspend`, {
    reason: 'Unpaid invoices',
    runningWork: 'keep',
  });
  return id as string;
}

const NODES_MAX = 20;

/** Rents all nodes of one GPU type. */
async function sellOut(call: Call): Promise<void> {
  for (let rented = 0; rented < NODES_MAX; rented += 1) {
    try {
      await call('POST', '/v2/on-demand/virtual-machine-rentals', {
        region: MOCK_REGION,
        gpuType: 'b200',
        gpuCount: 8,
        name: `render-${String(rented)}`,
        ttlSeconds: 86_400,
      });
    } catch (error) {
      if (String(error).includes('CAPACITY')) return;
      throw error;
    }
  }
}

/** The attachment is inserted, because volumes attach to bare metal, which the mock does not have by default. */
async function seedAttachedVolume(stack: ConsoleStack, call: Call, rentalId: number): Promise<number> {
  const { storageVolumeId } = await call('POST', '/v2/on-demand/storage-volumes', {
    region: MOCK_REGION,
    label: 'checkpoints',
    name: 'checkpoints',
    sizeInGb: 256,
  });
  await eventually({ what: 'the volume to be active', timeoutMs: 600_000 }, async () => {
    return (await call('GET', `/v2/on-demand/storage-volumes/${storageVolumeId}`)).status === 'active';
  });
  await stack.database.query(
    `insert into volume_attachments (volume_id, rental_id, org_id, mode, attached_at)
     select volume.id, rental.id, volume.org_id, volume.mode, now()
       from volumes as volume join rentals as rental using (org_id, mode)
      where volume.wire_id = $1 and rental.wire_id = $2`,
    [storageVolumeId, rentalId],
  );
  return storageVolumeId as number;
}
