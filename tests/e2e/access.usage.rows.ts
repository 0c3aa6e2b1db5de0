import type { OperationId } from '@millrace/contract';
import { plantRequest, testIds } from '@millrace/testing';
import type { SeededOrganisation } from '../../apps/api/src/fixture.ts';
import { batchNamed, plantBatch } from '../../apps/api/src/money.fixture.ts';
import type { AccessRow } from './access.rows.ts';
import type { Input, World } from './world.ts';

/** The rows of single inference requests, each with a request of its own. */

export const usageAccessRows: Partial<Record<OperationId, AccessRow>> = {
  // Leaves out what is foreign or absent instead of refusing it.
  getRequestCost: {
    own: async (world) => ({ body: { requestIds: [await requestOf(world, world.acme)] } }),
    others: 'none',
  },
  getRequestUsage: {
    own: async (world) => toParams(await requestOf(world, world.acme)),
    others: {
      absent: toParams(testIds.next('req')),
      foreign: async (world) => toParams(await requestOf(world, world.other)),
    },
  },
  listBatchRequests: {
    own: async (world) => toBatch(await batchOf(world, world.acme)),
    others: {
      absent: toBatch(testIds.next('bat')),
      foreign: async (world) => toBatch(await batchOf(world, world.other)),
    },
  },
};

function toBatch(batchId: string): Input {
  return { params: { batchId } };
}

export async function batchOf({ fixture }: World, { organisation }: SeededOrganisation): Promise<string> {
  const [first] = await plantBatch(fixture.db, organisation.id, [7n]);
  if (first === undefined) throw new Error('No request was planted.');
  return batchNamed(first);
}

function toParams(requestId: string): Input {
  return { params: { requestId } };
}

export function requestOf(world: World, { organisation }: SeededOrganisation): Promise<string> {
  return plantRequest(world.fixture.db, { orgId: organisation.id });
}
