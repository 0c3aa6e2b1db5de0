import type { OperationId } from '@millrace/contract';
import { plantRequest, testIds } from '@millrace/testing';
import type { SeededOrganisation } from '../../apps/api/src/fixture.ts';
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
};

function toParams(requestId: string): Input {
  return { params: { requestId } };
}

export function requestOf(world: World, { organisation }: SeededOrganisation): Promise<string> {
  return plantRequest(world.fixture.db, { orgId: organisation.id });
}
