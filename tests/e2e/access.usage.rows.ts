import type { OperationId } from '@millrace/contract';
import type { SeededOrganisation } from '@millrace/core/fixture';
import { insertRequest, testIds } from '@millrace/testing';
import { batchIdOf, insertBatch } from '../../packages/core/src/money.fixture.ts';
import type { AccessRow } from './access.rows.ts';
import type { CallInput, Harness } from './harness.ts';

/** Access rows of inference requests and batches. Each row inserts its own. */

export const usageAccessRows: Partial<Record<OperationId, AccessRow>> = {
  // Leaves out foreign and absent ids instead of refusing them.
  getRequestCost: {
    own: async (harness) => ({ body: { requestIds: [await insertUsageRequest(harness, harness.acme)] } }),
    others: 'none',
  },
  getRequestUsage: {
    own: async (harness) => requestInput(await insertUsageRequest(harness, harness.acme)),
    others: {
      absent: requestInput(testIds.next('req')),
      foreign: async (harness) => requestInput(await insertUsageRequest(harness, harness.other)),
    },
  },
  listBatchRequests: {
    own: async (harness) => batchInput(await insertBatchOf(harness, harness.acme)),
    others: {
      absent: batchInput(testIds.next('bat')),
      foreign: async (harness) => batchInput(await insertBatchOf(harness, harness.other)),
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
  if (first === undefined) throw new Error('No request was inserted.');
  return batchIdOf(first);
}

function requestInput(requestId: string): CallInput {
  return { params: { requestId } };
}

export function insertUsageRequest(harness: Harness, { organisation }: SeededOrganisation): Promise<string> {
  return insertRequest(harness.fixture.db, { orgId: organisation.id });
}
