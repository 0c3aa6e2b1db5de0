import type { OrgId } from '@millrace/platform/ids';
import { testIds } from '@millrace/testing';
import type { PlacementRequest } from './placement/placement.ts';

/** The placement request of a one-GPU rental, with overrides. */
export function placementRequestFor(
  orgId: OrgId,
  region: string,
  fields: Partial<PlacementRequest> = {},
): PlacementRequest {
  return {
    orgId,
    externalId: testIds.nextUuid(),
    holder: 'rental',
    mode: 'live',
    offer: 'virtual-machine',
    region,
    gpuType: 'h100',
    connectionType: 'ethernet',
    cuda: null,
    gpusPerNode: 1,
    nodeCount: 1,
    except: [],
    only: null,
    ports: [],
    freesAt: null,
    ...fields,
  };
}
