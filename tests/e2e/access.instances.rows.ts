import { contract, type OperationId } from '@millrace/contract';
import { createTenant, plantSupplierMachine } from '@millrace/testing';
import type { SeededOrganisation } from '../../apps/api/src/fixture.ts';
import { readyToRent } from './access.rentals.rows.ts';
import type { AccessRow } from './access.rows.ts';
import { call, type Input, type World } from './world.ts';

/** The rows of instances on machines of the marketplace. Each stands on a machine of its own, and on money of its own. */

const { operations } = contract;
const nothing = async (): Promise<Input> => ({});
const clusterName = 'for-rent';

export const instanceAccessRows: Partial<Record<OperationId, AccessRow>> = {
  createMarketplaceInstance: {
    own: async (world) => {
      await readyToRent(world, world.acme);
      return orderOf(await machineForRent(world));
    },
    // Machines are anybody's to rent; those that are not for rent have a test of their own.
    others: 'none',
  },
  listMarketplaceInstances: { own: nothing, others: 'none' },
  listMarketplaceInstancesByPost: { own: nothing, others: 'none' },
  listMarketplaceInstanceHistory: { own: nothing, others: 'none' },
  getMarketplaceInstance: {
    own: async (world) => ({ params: { name: await instanceOf(world, world.acme) } }),
    others: {
      absent: { params: { name: 'no-such-instance' } },
      foreign: async (world) => ({ params: { name: await instanceOf(world, world.other) } }),
    },
  },
  terminateMarketplaceInstance: {
    own: async (world) => ({ body: { id: await instanceOf(world, world.acme) } }),
    others: {
      absent: { body: { id: 'no-such-instance' } },
      foreign: async (world) => ({ body: { id: await instanceOf(world, world.other) } }),
    },
  },
};

/** What an order of a machine for rent says, whatever else it asks for. */
export function orderFor(nodeId: string): object {
  return { cluster_name: clusterName, node_name: nodeId, gpu_count: 1 };
}

function orderOf(nodeId: string): Input {
  return { body: orderFor(nodeId) };
}

/** A machine of somebody who rents nothing here. */
export async function machineForRent({ fixture: { db } }: World): Promise<string> {
  const { orgId } = await createTenant(db);
  const { nodeId } = await plantSupplierMachine(db, { orgId, clusterName });
  return nodeId;
}

/** An instance that was accepted, and that nobody works on. */
async function instanceOf(world: World, who: SeededOrganisation): Promise<string> {
  await readyToRent(world, who);
  const order = orderOf(await machineForRent(world));
  const answer = await call(world, operations.createMarketplaceInstance, order, who.owner.key);
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json.instance_name as string;
}
