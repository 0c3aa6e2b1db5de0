import { toUuid } from '@millrace/platform/ids';
import { createOrganisation, testIds } from '@millrace/testing';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { findPlacement, markReleasing, setFreesAt } from './allocations.store.ts';
import { gpusOf, openPlacementHarness, placementTransaction, outcomeOf } from './placement.fixture.ts';
import type { Placement } from './placement.ts';
import { place } from './placement.service.ts';

const ground = await openPlacementHarness(8);

afterEach(async () => expect(await ground.violations()).toEqual([]));

afterAll(() => ground.database.drop());

const [full, free] = ['INSUFFICIENT_CAPACITY', 'placed'];

const nodesOf = (placement: Placement) => placement.nodes.map(({ nodeId }) => nodeId);

describe('releaseAllocation', () => {
  it('frees GPUs and ports once, and returns true once', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 1, portRange: [30_000, 30_000] });
    const placement = await region.place();
    expect(await outcomeOf(region.place())).toBe(full);
    expect([await region.release(placement), await region.release(placement)]).toEqual([true, false]);
    const next = await region.place();
    expect(gpusOf(next)).toEqual(gpusOf(placement));
    expect(await region.release(placement)).toBe(false);
    expect(await outcomeOf(region.place())).toBe(full);
  });

  it('does nothing for another organisation', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 1 });
    const { db } = ground.database;
    const placement = await region.place();
    const outsider = await createOrganisation(db);
    expect(await region.release(placement, outsider)).toBe(false);
    expect(
      await db.transaction(placementTransaction, (tx) => markReleasing(tx, outsider, placement.allocationId)),
    ).toBe(false);
    await db.transaction(placementTransaction, (tx) =>
      setFreesAt(tx, outsider, placement.allocationId, new Date(0)),
    );
    const [row] = await ground.query('select state, frees_at from allocations where id = $1', [
      toUuid(placement.allocationId),
    ]);
    expect(row).toEqual({ state: 'live', frees_at: null });
    expect(await outcomeOf(region.place())).toBe(full);
  });

  it('keeps the GPUs reserved after markReleasing until the engine confirms the deletion', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 1 });
    const { db } = ground.database;
    const placement = await region.place();
    const mark = () =>
      db.transaction(placementTransaction, (tx) => markReleasing(tx, ground.orgId, placement.allocationId));
    expect([await mark(), await mark()]).toEqual([true, false]);
    expect(await findPlacement(db, ground.orgId, placement.externalId)).toBeNull();
    expect(await outcomeOf(region.place())).toBe(full);
    expect(await region.release(placement)).toBe(true);
    expect(await mark()).toBe(false);
    expect(await outcomeOf(region.place())).toBe(free);
  });

  it('lets a machine get new GPUs while its old allocation is releasing', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 2, gpusPerNode: 1 });
    const externalId = testIds.nextUuid();
    const before = await region.place({ externalId });
    const after = await ground.database.db.transaction(placementTransaction, async (tx) => {
      await markReleasing(tx, ground.orgId, before.allocationId);
      return place(tx, region.request({ externalId, except: nodesOf(before) }));
    });
    expect(gpusOf(after)).not.toEqual(gpusOf(before));
    expect(await region.release(before)).toBe(true);
    expect(await findPlacement(ground.database.db, ground.orgId, externalId)).toEqual(after);
  });
});

describe('transaction rollback', () => {
  it('leaves nothing of a placement', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 1 });
    const failing = ground.database.db.transaction(placementTransaction, async (tx) => {
      await place(tx, region.request());
      throw new Error('the money was short');
    });
    await expect(failing).rejects.toThrow('the money was short');
    expect(await outcomeOf(region.place())).toBe(free);
  });

  it('does not happen when capacity is insufficient and the caller continues', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 1 });
    const [placed, refused] = await ground.database.db.transaction(placementTransaction, async (tx) => [
      await place(tx, region.request()),
      await outcomeOf(place(tx, region.request())),
    ]);
    expect(refused).toBe(full);
    expect(await region.release(placed as Placement)).toBe(true);
  });
});
