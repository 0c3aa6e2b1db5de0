import { gpuTypes } from '@millrace/contract';
import type { FabricId, NodeId } from '@millrace/platform/ids';
import { testIds } from '@millrace/testing';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  findAlternatives,
  earliestFitAt,
  assessPlacement,
  roundUpToMinute,
  type CapacityChange,
  type NodeFacts,
  type PlacementQuery,
} from './placement-explanation.ts';
import { nodeLayoutOf, type Pool, type PoolKey, type FreeNodes, type NodeLayout } from './offers.ts';

const fabrics = [testIds.next('fab'), testIds.next('fab'), null] as const;
const [fabric] = fabrics;
const request: PlacementQuery = {
  mode: 'live',
  machineType: 'virtual-machine',
  region: 'us-central-1',
  gpuType: 'h100',
  connectionType: 'ethernet',
  gpuCount: 4,
  cuda: null,
};
const good: NodeFacts = {
  nodes: 1,
  regionOn: true,
  open: true,
  watched: true,
  status: 'node_ready',
  ready: true,
  gpuType: 'h100',
  connectionType: 'ethernet',
  cuda: 1208,
  gpusTotal: 8,
  gpusFree: 8,
  idle: true,
  fabricId: fabric,
};
const reasons = (query: PlacementQuery, ...facts: readonly NodeFacts[]) =>
  assessPlacement(query, true, facts).obstacles.map(({ code, nodeCount }) => `${code} ${nodeCount}`);

describe('assessPlacement', () => {
  it('counts each node once, under its first obstacle in the order of placement', () => {
    const worst = { ...good, open: false, regionOn: false, watched: false, ready: false, gpusFree: 0 };
    expect(
      reasons(
        { ...request, cuda: 1209 },
        { ...worst, status: 'node_offline', nodes: 3 },
        { ...worst, regionOn: true, nodes: 2 },
        { ...good, watched: false, ready: false, status: 'node_draining' },
        { ...good, ready: false, status: 'node_draining', gpuType: 'b200' },
        { ...good, ready: false, status: 'node_quarantined' },
        { ...good, ready: false, status: 'node_offline' },
        { ...good, ready: false, status: 'node_registering', gpuType: null },
        { ...good, gpuType: 'h200', connectionType: 'infiniband' },
        { ...good, connectionType: 'infiniband', cuda: null },
        { ...good, cuda: null, gpusFree: 0, nodes: 5 },
        { ...good, cuda: 1209, gpusTotal: 2, gpusFree: 0 },
        { ...good, cuda: 1209, gpusFree: 3, nodes: 4 },
      ),
    ).toEqual([
      'REGION_DISABLED 3',
      'CLUSTER_SILENT 2',
      'CLUSTER_UNWATCHED 1',
      'NODE_REGISTERING 1',
      'NODE_OFFLINE 1',
      'NODE_DRAINING 1',
      'NODE_QUARANTINED 1',
      'WRONG_GPU_TYPE 1',
      'WRONG_NETWORK 1',
      'CUDA_TOO_OLD 5',
      'NODE_TOO_SMALL 1',
      'NO_FREE_GPUS 4',
    ]);
  });

  it('counts a gang by fabric, and bare metal by whole nodes', () => {
    const gang: PlacementQuery = { ...request, machineType: 'bare-metal', gpuCount: 24 };
    const other = fabrics[1];
    expect(
      reasons(
        gang,
        { ...good, nodes: 2 },
        { ...good, fabricId: other, nodes: 2 },
        { ...good, fabricId: null },
      ),
    ).toEqual(['FABRIC_TOO_SMALL 5']);
    const fits = assessPlacement(gang, true, [
      { ...good, nodes: 2 },
      { ...good, cuda: 1209 },
      { ...good, fabricId: other },
    ]);
    expect([fits.placeable, fits.nodesFitting]).toEqual([true, 3]);
    const one: PlacementQuery = { ...gang, gpuCount: 8 };
    expect(assessPlacement(one, true, [{ ...good, fabricId: null }]).placeable).toBe(true);
    expect(reasons(one, { ...good, gpusTotal: 16, gpusFree: 16 }, { ...good, idle: false })).toEqual([
      'NODE_TOO_SMALL 1',
      'NO_FREE_GPUS 1',
    ]);
  });

  it('reports a region that is not offered, bare metal not in multiples of 8 GPUs, or a region without nodes', () => {
    const sum = (query: PlacementQuery, rentable: boolean, facts: readonly NodeFacts[]) =>
      assessPlacement(query, rentable, facts).obstacles;
    expect(sum(request, false, [good])).toEqual([{ code: 'REGION_NOT_OFFERED', nodeCount: 1 }]);
    expect(sum({ ...request, machineType: 'bare-metal' }, true, [good])).toEqual([
      { code: 'GPU_COUNT_NOT_OFFERED', nodeCount: 1 },
    ]);
    expect(sum(request, true, [])).toEqual([{ code: 'NO_NODES_IN_REGION', nodeCount: 0 }]);
  });

  it('gives each considered node one obstacle or counts it as fitting', () => {
    const facts = fc.array(
      fc.record({
        nodes: fc.integer({ min: 1, max: 9 }),
        regionOn: fc.boolean(),
        open: fc.boolean(),
        watched: fc.boolean(),
        status: fc.constantFrom('node_ready', 'node_draining', 'node_offline', 'node_quarantined'),
        ready: fc.boolean(),
        gpuType: fc.constantFrom(...gpuTypes, null),
        connectionType: fc.constantFrom('ethernet', 'infiniband'),
        cuda: fc.constantFrom(null, 1208, 1209),
        gpusTotal: fc.constantFrom(4, 8),
        gpusFree: fc.nat(8),
        idle: fc.boolean(),
        fabricId: fc.constantFrom(...fabrics),
      } satisfies Record<keyof NodeFacts, fc.Arbitrary<unknown>>),
    );
    fc.assert(
      fc.property(facts, fc.nat(40), fc.boolean(), (given, gpuCount, isMetal) => {
        const query: PlacementQuery = {
          ...request,
          gpuCount,
          machineType: isMetal ? 'bare-metal' : 'virtual-machine',
        };
        const result = assessPlacement(query, true, given as readonly NodeFacts[]);
        const excluded = result.obstacles.reduce((sum, { nodeCount }) => sum + nodeCount, 0);
        expect(result.nodesFitting + excluded).toBe(result.nodesConsidered);
        expect(result.placeable).toBe(result.nodesFitting > 0);
      }),
    );
  });
});

interface Machine {
  readonly total: number;
  readonly takesFrom: number | null;
  readonly fabric: FabricId | null;
  /** End and GPU count of each allocation. */
  readonly sold: readonly { readonly at: number; readonly gpus: number }[];
}

describe('earliestFitAt', () => {
  const machine: fc.Arbitrary<Machine> = fc
    .record({
      takesFrom: fc.option(fc.integer({ min: 1, max: 20 })),
      fabric: fc.constantFrom(...fabrics),
      sold: fc.array(
        fc.record({ at: fc.integer({ min: 1, max: 20 }), gpus: fc.integer({ min: 1, max: 8 }) }),
        {
          maxLength: 4,
        },
      ),
    })
    .map(({ sold, ...rest }) => {
      let left = 8;
      return { total: 8, ...rest, sold: sold.filter(({ gpus }) => (left -= gpus) >= 0) };
    });
  const shapes = [1, 3, 8].map((count) => nodeLayoutOf('virtual-machine', count));
  const gangs = [8, 16, 24].map((count) => nodeLayoutOf('bare-metal', count));
  const shape = fc.constantFrom(...[...shapes, ...gangs].filter((each) => each !== null));

  const freeAt = ({ total, sold }: Machine, minute: number) =>
    total - sold.filter(({ at }) => at > minute).reduce((sum, { gpus }) => sum + gpus, 0);
  const takes = ({ takesFrom }: Machine, minute: number) => takesFrom === null || takesFrom <= minute;

  /** The definition: whether the layout fits at this minute, after all earlier changes. */
  function fitsAt(machines: readonly Machine[], wanted: NodeLayout, minute: number): boolean {
    const able = machines.filter((each) => takes(each, minute) && freeAt(each, minute) >= wanted.gpusPerNode);
    if (wanted.nodeCount === 1) return able.length > 0;
    const onFabrics = Map.groupBy(able, (each) => each.fabric);
    return fabrics.some((id) => id !== null && (onFabrics.get(id)?.length ?? 0) >= wanted.nodeCount);
  }

  function changesOf(machines: readonly Machine[]): readonly CapacityChange[] {
    return machines.flatMap((each) => {
      const gpusFree = freeAt(each, 0);
      const node = {
        nodeId: testIds.next('nod') as NodeId,
        fabricId: each.fabric,
        takesFrom: each.takesFrom === null ? null : new Date(each.takesFrom),
        gpusFree,
        gpusTotal: each.total,
        gpusAllocated: each.total - gpusFree,
      };
      const ends = each.sold.map(({ at, gpus }) => ({
        ...node,
        at: new Date(at),
        held: gpus,
        present: gpus,
      }));
      return each.takesFrom === null
        ? ends
        : [...ends, { ...node, at: new Date(each.takesFrom), held: 0, present: 0 }];
    });
  }

  it('returns the first time at which the ended allocations free enough capacity', () => {
    fc.assert(
      fc.property(fc.array(machine, { maxLength: 6 }), shape, (machines, wanted) => {
        fc.pre(!fitsAt(machines, wanted, 0));
        const idle = new Map<FabricId, number>();
        for (const each of machines.filter((one) => takes(one, 0) && freeAt(one, 0) === one.total)) {
          if (each.fabric !== null) idle.set(each.fabric, 1 + (idle.get(each.fabric) ?? 0));
        }
        const minutes = Array.from({ length: 20 }, (_, index) => index + 1);
        const first = minutes.find((minute) => fitsAt(machines, wanted, minute));
        expect(earliestFitAt(wanted, changesOf(machines), idle)?.getTime()).toBe(first);
      }),
      { numRuns: 1_000 },
    );
  });

  it('ignores missing GPUs of a released allocation', () => {
    const node = { nodeId: testIds.next('nod'), fabricId: null, takesFrom: null };
    const change = {
      ...node,
      at: new Date(5),
      held: 2,
      present: 1,
      gpusFree: 6,
      gpusTotal: 7,
      gpusAllocated: 2,
    };
    const eight: NodeLayout = { gpusPerNode: 8, nodeCount: 1, whole: false };
    expect(earliestFitAt(eight, [change], new Map())).toBeNull();
    expect(earliestFitAt({ ...eight, gpusPerNode: 7 }, [change], new Map())).toEqual(new Date(5));
  });

  it('is rounded up to the minute by roundUpToMinute', () => {
    expect(roundUpToMinute(new Date('2026-01-01T10:00:00.001Z')).toISOString()).toBe(
      '2026-01-01T10:01:00.000Z',
    );
    expect(roundUpToMinute(new Date('2026-01-01T10:01:00.000Z')).toISOString()).toBe(
      '2026-01-01T10:01:00.000Z',
    );
  });
});

describe('findAlternatives', () => {
  const poolOf = (
    key: Partial<PoolKey>,
    free: readonly (readonly [gpusFree: number, nodes: number])[],
  ): Pool => {
    const { gpuCount: _, cuda: __, ...base } = request;
    const full = { ...base, ...key };
    const rooms: FreeNodes[] = free.map(([gpusFree, nodes]) => ({ ...full, gpusFree, nodes, cuda: 1208 }));
    return { ...full, hardware: [], largestFabric: 0, rooms, fabrics: [], enabled: true };
  };
  const shown = (query: PlacementQuery, pools: readonly Pool[]) =>
    findAlternatives(query, pools).map(
      ({ pool, gpuCount, totalAvailable }) =>
        `${pool.region} ${pool.gpuType} ${pool.connectionType} ${gpuCount} x${totalAvailable}`,
    );

  it('returns the nearest first, and never the request itself, another mode or another machine type', () => {
    const pools = [
      poolOf({}, [[2, 3]]),
      poolOf({ region: 'eu-north-2' }, [[4, 2]]),
      poolOf({ region: 'eu-west-1' }, [[3, 1]]),
      poolOf({ gpuType: 'b200' }, [[8, 1]]),
      poolOf({ gpuType: 'h200', region: 'eu-west-1' }, [[4, 1]]),
      poolOf({ gpuType: 'h200' }, [[2, 1]]),
      poolOf({ connectionType: 'infiniband' }, [[5, 1]]),
      poolOf({ region: 'jp-east-1' }, []),
      poolOf({ mode: 'test', region: 'mock-region' }, [[8, 9]]),
      poolOf({ machineType: 'bare-metal' }, [[8, 9]]),
    ];
    expect(shown(request, pools)).toEqual([
      'us-central-1 h100 infiniband 4 x1',
      'us-central-1 h100 ethernet 2 x3',
      'eu-north-2 h100 ethernet 4 x2',
      'us-central-1 b200 ethernet 4 x2',
      'eu-west-1 h100 ethernet 3 x1',
      'eu-west-1 h200 ethernet 4 x1',
    ]);
    expect(shown({ ...request, cuda: 1209 }, pools)).toEqual([]);
    expect(shown(request, [poolOf({}, [[8, 1]])])).toEqual([]);
  });

  it('returns whole nodes for bare metal, also if the request was not for whole nodes', () => {
    const query: PlacementQuery = { ...request, machineType: 'bare-metal', gpuCount: 20 };
    const pool = poolOf({ machineType: 'bare-metal' }, [[8, 3]]);
    const { gpuCount: _, cuda: __, ...key } = query;
    const gangs = { ...pool, fabrics: [{ ...key, idleNodes: 3, leastCuda: 1208, fabrics: 1 }] };
    expect(shown(query, [gangs])).toEqual(['us-central-1 h100 ethernet 16 x1']);
    expect(shown({ ...query, gpuCount: 4 }, [pool])).toEqual(['us-central-1 h100 ethernet 8 x3']);
  });
});
