import { contract, type OperationId } from '@millrace/contract';
import { toUuid, type NodeId } from '@millrace/platform/ids';
import { insertFleet, testIds, uniqueId } from '@millrace/testing';
import type { AccessRow } from './access.rows.ts';
import { callOperation, type CallInput, type Harness } from './harness.ts';

/** Access rows of the operator's fleet operations. Each row inserts its own cluster. */

const { operations } = contract;
const noInput = async (): Promise<CallInput> => ({});
const DAY_MS = 86_400_000;

const gpuMark = { faulty: true, reason: 'row remapping failed' };

/** The provider that `insertFleet` creates. */
export const insertedProvider = { id: 'provider-v1', region: 'us-central-1' } as const;

export const fleetAccessRows: Partial<Record<OperationId, AccessRow>> = {
  listRentalOptions: { own: noInput, others: 'none' },
  listReserveOptions: { own: noInput, others: 'none' },
  explainPlacement: {
    own: async () => ({ body: { rentalType: 'virtual-machine', gpuCount: 1 } }),
    others: 'none',
  },
  adminGetHealth: { caller: 'operator', own: noInput, others: 'none' },
  adminGetOverview: { caller: 'operator', own: noInput, others: 'none' },
  adminListProviders: { caller: 'operator', own: noInput, others: 'none' },
  adminUpdateProvider: {
    caller: 'operator',
    own: async (harness) => {
      await insertNode(harness);
      return { params: { providerId: insertedProvider.id }, body: { enabled: true, reason: 'open again' } };
    },
    others: {
      absent: { params: { providerId: 'nobody' }, body: { enabled: true, reason: 'open again' } },
      foreign: 'operators see all',
    },
  },
  adminListClusters: { caller: 'operator', own: noInput, others: 'none' },
  adminCreateCluster: {
    caller: 'operator',
    own: async (harness) => {
      await insertNode(harness);
      return { body: newCluster() };
    },
    others: {
      absent: { body: { ...newCluster(), providerId: 'nobody' } },
      foreign: 'operators see all',
    },
  },
  adminRemoveCluster: {
    caller: 'operator',
    own: async ({ fixture }) => {
      const { clusterId } = await insertFleet(fixture.db, { nodes: 1 });
      return { params: { clusterId } };
    },
    others: { absent: { params: { clusterId: testIds.next('cls') } }, foreign: 'operators see all' },
  },
  adminListNodes: { caller: 'operator', own: noInput, others: 'none' },
  adminGetNode: nodeRow({}),
  adminListNodeTransitions: nodeRow({}),
  adminDrainNode: nodeRow({ body: { reason: 'to be moved' } }),
  adminResumeNode: nodeRow({ body: { reason: 'looks well' } }),
  adminQuarantineNode: nodeRow({ body: { reason: 'looks odd' } }),
  adminRemoveNode: nodeRow({}, async (harness, nodeId) => {
    const input = { params: { nodeId }, body: { reason: 'scrapped' } };
    await callOperation(harness, operations.adminDrainNode, input, harness.operator.owner.key);
  }),
  adminWriteOffNode: nodeRow({ body: { reason: 'never came back', hostIsOff: true } }, makeNodeUnreachable),
  adminMarkGpu: {
    caller: 'operator',
    own: async (harness) => {
      const nodeId = await insertNode(harness);
      const node = await callOperation(
        harness,
        operations.adminGetNode,
        { params: { nodeId } },
        harness.operator.owner.key,
      );
      return { params: { nodeId, gpuId: node.json.gpus[0].id as string }, body: gpuMark };
    },
    others: {
      absent: { params: { nodeId: testIds.next('nod'), gpuId: testIds.next('gpu') }, body: gpuMark },
      foreign: 'operators see all',
    },
  },
  adminListMaintenanceWindows: { caller: 'operator', own: noInput, others: 'none' },
  adminCreateMaintenanceWindow: {
    caller: 'operator',
    own: async (harness) => ({ body: newWindow(await insertNode(harness)) }),
    others: { absent: { body: newWindow(testIds.next('nod')) }, foreign: 'operators see all' },
  },
  adminCancelMaintenanceWindow: {
    caller: 'operator',
    own: async (harness) => {
      const body = newWindow(await insertNode(harness));
      const made = await callOperation(
        harness,
        operations.adminCreateMaintenanceWindow,
        { body },
        harness.operator.owner.key,
      );
      return { params: { maintenanceId: made.json.id as string } };
    },
    others: { absent: { params: { maintenanceId: testIds.next('mnt') } }, foreign: 'operators see all' },
  },
};

export function newCluster() {
  const { id: providerId, region } = insertedProvider;
  return { name: `c${uniqueId()}`, providerId, region, driver: 'mock', endpoint: 'mock:' };
}

export function newWindow(...nodeIds: readonly string[]) {
  const startsAt = new Date(Date.now() + DAY_MS).toISOString();
  const endsAt = new Date(Date.now() + 2 * DAY_MS).toISOString();
  return { nodeIds, startsAt, endsAt, summary: 'new firmware' };
}

async function insertNode({ fixture }: Harness): Promise<string> {
  const [nodeId] = (await insertFleet(fixture.db, { nodes: 1 })).nodeIds;
  if (nodeId === undefined) throw new Error('No node was inserted.');
  return nodeId;
}

export async function makeNodeUnreachable(harness: Harness, nodeId: string): Promise<void> {
  const id = toUuid(nodeId as NodeId);
  await harness.fixture.database.query(
    `update nodes set status = 'node_offline', back_to = 'node_ready' where id = $1`,
    [id],
  );
  await harness.fixture.database.query('update node_capacity set ready = false where node_id = $1', [id]);
}

function nodeRow(
  input: CallInput,
  prepare: (harness: Harness, nodeId: string) => Promise<void> = async () => {},
): AccessRow {
  return {
    caller: 'operator',
    own: async (harness) => {
      const nodeId = await insertNode(harness);
      await prepare(harness, nodeId);
      return { ...input, params: { nodeId } };
    },
    others: { absent: { ...input, params: { nodeId: testIds.next('nod') } }, foreign: 'operators see all' },
  };
}
