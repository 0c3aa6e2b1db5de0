import type { OperationId } from '@millrace/contract';
import { insertRequest, testIds } from '@millrace/testing';
import type { SeededOrganisation } from '../../apps/api/src/api.fixture.ts';
import { batchIdOf, insertBatch } from '../../apps/api/src/money.fixture.ts';
import type { AccessRow } from './access.rows.ts';
import type { CallInput, Harness } from './harness.ts';

/** The rows of single inference requests, each with a request of its own. */

export const usageAccessRows: Partial<Record<OperationId, AccessRow>> = {
  // Leaves out what is foreign or absent instead of refusing it.
  getRequestCost: {
    own: async (world) => ({ body: { requestIds: [await insertUsageRequest(world, world.acme)] } }),
    others: 'none',
  },
  getRequestUsage: {
    own: async (world) => requestInput(await insertUsageRequest(world, world.acme)),
    others: {
      absent: requestInput(testIds.next('req')),
      foreign: async (world) => requestInput(await insertUsageRequest(world, world.other)),
    },
  },
  listBatchRequests: {
    own: async (world) => batchInput(await insertBatchOf(world, world.acme)),
    others: {
      absent: batchInput(testIds.next('bat')),
      foreign: async (world) => batchInput(await insertBatchOf(world, world.other)),
    },
  },
};

function batchInput(batchId: string): CallInput {
  return { params: { batchId } };
}

export async function insertBatchOf(
  { fixture }: Harness,
  { organisation }: SeededOrganisation,
): Promise<string> {
  const [first] = await insertBatch(fixture.db, organisation.id, [7n]);
  if (first === undefined) throw new Error('No request was planted.');
  return batchIdOf(first);
}

function requestInput(requestId: string): CallInput {
  return { params: { requestId } };
}

export function insertUsageRequest(world: Harness, { organisation }: SeededOrganisation): Promise<string> {
  return insertRequest(world.fixture.db, { orgId: organisation.id });
}
