import {
  createOrganisation,
  createTestDatabase,
  plantFleet,
  testIds,
  type TestDatabase,
} from '@millrace/testing';
import type { OrgId } from '@millrace/platform/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PlacementWish } from './placement.ts';
import { place } from './placement.service.ts';

let database: TestDatabase;
let orgId: OrgId;

beforeAll(async () => {
  database = await createTestDatabase({ poolSize: 20 });
  orgId = await createOrganisation(database.db);
});
afterAll(() => database.drop());

function wish(fields: Partial<PlacementWish> = {}): PlacementWish {
  return {
    orgId,
    externalId: testIds.nextUuid(),
    holder: 'rental',
    mode: 'live',
    offer: 'virtual-machine',
    region: 'us-central-1',
    gpuType: 'h100',
    connectionType: 'ethernet',
    cuda: null,
    gpusPerNode: 1,
    nodeCount: 1,
    except: [],
    only: null,
    ports: [{ internalPort: 22, protocol: 'tcp' }],
    freesAt: null,
    ...fields,
  };
}

async function placeOne(fields: Partial<PlacementWish> = {}) {
  return database.db.transaction({ name: 'place', isolation: 'read committed' }, (tx) =>
    place(tx, wish(fields)),
  );
}

describe('placement', () => {
  it('sells the last 8 GPUs exactly once to 64 who come at the same moment, and refuses the rest', async () => {
    await plantFleet(database.db, { nodes: 1, region: 'us-east-1' });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 64 }, () => placeOne({ region: 'us-east-1' })),
    );
    const sold = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    expect(sold).toHaveLength(8);
    const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(new Set(reasons.map((reason) => reason.reason))).toEqual(new Set(['INSUFFICIENT_CAPACITY']));
    const gpus = sold.flatMap(({ value }) =>
      value.nodes.flatMap((node) => node.gpus.map((gpu) => gpu.gpuId)),
    );
    expect(new Set(gpus).size).toBe(8);
  });

  it('gives a gang all of its nodes or none, under contention', async () => {
    await plantFleet(database.db, { nodes: 8, fabricSize: 8, region: 'us-east-2', offer: 'bare-metal' });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 16 }, () =>
        placeOne({ region: 'us-east-2', offer: 'bare-metal', gpusPerNode: 8, nodeCount: 4, ports: [] }),
      ),
    );
    expect(
      outcomes
        .map((o) => (o.status === 'rejected' ? (o.reason as Error).message : o.value.nodes.length))
        .filter((x) => x === 4),
    ).toHaveLength(2);
  });
});
