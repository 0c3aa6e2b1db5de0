import { contract, type OperationId } from '@millrace/contract';
import type { SeededOrganisation } from '@millrace/core/fixture';
import { createTenant, insertSupplierMachine } from '@millrace/testing';
import { prepareToRent } from './access.rentals.rows.ts';
import type { AccessRow } from './access.rows.ts';
import { callOperation, type CallInput, type Harness } from './harness.ts';

/** The rows of instances on machines of the marketplace. Each stands on a machine of its own, and on money of its own. */

const { operations } = contract;
const noInput = async (): Promise<CallInput> => ({});
const clusterName = 'for-rent';

export const instanceAccessRows: Partial<Record<OperationId, AccessRow>> = {
  createMarketplaceInstance: {
    own: async (harness) => {
      await prepareToRent(harness, harness.acme);
      return instanceRequest(await insertListedMachine(harness));
    },
    // Machines are anybody's to rent; those that are not for rent have a test of their own.
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

/** What an order of a machine for rent says, whatever else it asks for. */
export function instanceRequestBody(nodeId: string): object {
  return { cluster_name: clusterName, node_name: nodeId, gpu_count: 1 };
}

function instanceRequest(nodeId: string): CallInput {
  return { body: instanceRequestBody(nodeId) };
}

/** A machine of somebody who rents nothing here. */
export async function insertListedMachine({ fixture: { db } }: Harness): Promise<string> {
  const { orgId } = await createTenant(db);
  const { nodeId } = await insertSupplierMachine(db, { orgId, clusterName });
  return nodeId;
}

/** An instance that was accepted, and that nobody works on. */
async function createInstance(harness: Harness, who: SeededOrganisation): Promise<string> {
  await prepareToRent(harness, who);
  const order = instanceRequest(await insertListedMachine(harness));
  const response = await callOperation(harness, operations.createMarketplaceInstance, order, who.owner.key);
  if (response.status !== 200) throw new Error(response.text);
  return response.json.instance_name as string;
}
