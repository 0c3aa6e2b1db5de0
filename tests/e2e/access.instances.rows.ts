import { contract, type OperationId } from '@millrace/contract';
import type { SeededOrganisation } from '@millrace/core/fixture';
import { createTenant, insertSupplierMachine } from '@millrace/testing';
import { prepareToRent } from './access.rentals.rows.ts';
import type { AccessRow } from './access.rows.ts';
import { callOperation, type CallInput, type Harness } from './harness.ts';

/** Access rows of marketplace instances. Each row has its own machine and credit. */

const { operations } = contract;
const noInput = async (): Promise<CallInput> => ({});
const clusterName = 'for-rent';

export const instanceAccessRows: Partial<Record<OperationId, AccessRow>> = {
  createMarketplaceInstance: {
    own: async (harness) => {
      await prepareToRent(harness, harness.acme);
      return instanceRequest(await insertListedMachine(harness));
    },
    // Every organisation may rent any listed machine; machines that are not for rent have their own test.
    others: 'none',
  },
  listMarketplaceInstances: { own: noInput, others: 'none' },
  listMarketplaceInstancesByPost: { own: noInput, others: 'none' },
  listMarketplaceInstanceHistory: { own: noInput, others: 'none' },
  getMarketplaceInstance: {
    own: async (harness) => ({ params: { name: await createInstance(harness, harness.acme) } }),
    others: {
      absent: { params: { name: 'no-such-instance' } },
      foreign: async (harness) => ({ params: { name: await createInstance(harness, harness.other) } }),
    },
  },
  terminateMarketplaceInstance: {
    own: async (harness) => ({ body: { id: await createInstance(harness, harness.acme) } }),
    others: {
      absent: { body: { id: 'no-such-instance' } },
      foreign: async (harness) => ({ body: { id: await createInstance(harness, harness.other) } }),
    },
  },
};

export function instanceRequestBody(nodeId: string): object {
  return { cluster_name: clusterName, node_name: nodeId, gpu_count: 1 };
}

function instanceRequest(nodeId: string): CallInput {
  return { body: instanceRequestBody(nodeId) };
}

/** Inserts a machine of a supplier that rents nothing here. */
export async function insertListedMachine({ fixture: { db } }: Harness): Promise<string> {
  const { orgId } = await createTenant(db);
  const { nodeId } = await insertSupplierMachine(db, { orgId, clusterName });
  return nodeId;
}

/** Creates an accepted instance; no worker provisions it. */
async function createInstance(harness: Harness, who: SeededOrganisation): Promise<string> {
  await prepareToRent(harness, who);
  const order = instanceRequest(await insertListedMachine(harness));
  const response = await callOperation(harness, operations.createMarketplaceInstance, order, who.owner.key);
  if (response.status !== 200) throw new Error(response.text);
  return response.json.instance_name as string;
}
