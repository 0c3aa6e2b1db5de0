import { systemClock } from '@millrace/platform/clock';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { openPlacementHarness, outcomeOf } from './placement.fixture.ts';
import type { Placement } from './placement.ts';
import { OBSERVATION_MAX_AGE_MS } from './placement.service.ts';

const ground = await openPlacementHarness(8);

afterEach(async () => expect(await ground.violations()).toEqual([]));

afterAll(() => ground.database.drop());

const [full, free] = ['INSUFFICIENT_CAPACITY', 'placed'];

const nodesOf = (placement: Placement) => placement.nodes.map(({ nodeId }) => nodeId);

const externalPorts = (placement: Placement) =>
  placement.nodes.flatMap(({ ports }) => ports.map(({ externalPort }) => externalPort));

/** Longer ago than a heartbeat stays valid. */
const unwatched = (): Date => new Date(systemClock.nowMs() - OBSERVATION_MAX_AGE_MS - 60_000);

const ssh = { internalPort: 22, protocol: 'tcp' } as const;

describe('port assignment', () => {
  it('is unique per node and protocol, and reuses released ports', async () => {
    const region = ground.newRegion({
      ports: [ssh, { internalPort: 80, protocol: 'tcp' }, { internalPort: 53, protocol: 'udp' }],
    });
    await region.seed({ nodes: 1, portRange: [30_000, 30_003] });
    const tcpPorts = (placement: Placement) =>
      externalPorts(placement)
        .slice(0, 2)
        .toSorted((one, other) => one - other);
    const first = await region.place();
    const second = await region.place();
    expect(new Set([...tcpPorts(first), ...tcpPorts(second)])).toEqual(
      new Set([30_000, 30_001, 30_002, 30_003]),
    );
    expect(externalPorts(first)[2]).not.toBe(externalPorts(second)[2]);
    expect(await outcomeOf(region.place())).toBe(full);
    await region.release(first);
    expect(tcpPorts(await region.place())).toEqual(tcpPorts(first));
  });

  it('rarely reuses a port that was just released', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1 });
    const given = new Set<number>();
    for (let time = 0; time < 5; time += 1) {
      const placement = await region.place();
      given.add(externalPorts(placement)[0] ?? 0);
      await region.release(placement);
    }
    expect(given.size).toBeGreaterThan(1);
  });

  it('uses another node if the best node has no free ports', async () => {
    const region = ground.newRegion();
    const { nodeIds } = await region.seed({ nodes: 1, portRange: [30_000, 30_001] });
    const { nodeIds: others } = await region.seed({ nodes: 1 });
    const [only = null] = nodeIds;
    await region.place({ only });
    await region.place({ only });
    expect(nodesOf(await region.place())).toEqual(others);
    await expect(region.place({ only })).rejects.toMatchObject({ reason: full, message: /no ports left/ });
    expect(nodesOf(await region.place({ only, ports: [] }))).toEqual(nodeIds);
  });

  it('finds a node with free ports behind more full nodes than are tried one by one', async () => {
    const region = ground.newRegion();
    const { nodeIds } = await region.seed({ nodes: 100, gpusPerNode: 2, portRange: [30_000, 30_000] });
    for (const only of nodeIds) await region.place({ only });
    const { nodeIds: others } = await region.seed({ nodes: 1 });
    expect(nodesOf(await region.place())).toEqual(others);
    await expect(region.place({ except: others })).rejects.toMatchObject({
      reason: full,
      message: /no ports left/,
    });
  });

  it('covers each node of a gang and avoids nodes without free ports', async () => {
    const region = ground.newRegion({ offer: 'bare-metal', gpusPerNode: 8, nodeCount: 2 });
    await region.seed({ nodes: 2, offer: 'bare-metal', portRange: [30_000, 30_000] });
    const { nodeIds } = await region.seed({ nodes: 3, offer: 'bare-metal' });
    const ports = [ssh, { internalPort: 80, protocol: 'tcp' } as const];
    const placement = await region.place({ ports });
    expect(nodesOf(placement)).toEqual(nodeIds.slice(0, 2));
    expect(placement.nodes.map((node) => node.ports.length)).toEqual([2, 2]);
    await expect(region.place({ ports })).rejects.toMatchObject({ reason: full, message: /no ports left/ });
    expect(await outcomeOf(region.place())).toBe(free);
  });
});

describe('machines with their own address', () => {
  it("get no ports and use none of the cluster's range", async () => {
    const region = ground.newRegion({ offer: 'bare-metal', gpusPerNode: 8, nodeCount: 2 });
    await region.seed({ nodes: 4, offer: 'bare-metal', driver: 'ironic', portRange: [30_000, 30_000] });
    const ports = [ssh, { internalPort: 80, protocol: 'tcp' } as const];
    for (const placement of [await region.place({ ports }), await region.place({ ports })]) {
      expect(placement.nodes.map((node) => node.ports)).toEqual([[], []]);
    }
    expect(await outcomeOf(region.place({ ports }))).toBe(full);
  });

  it('are found after an unobserved node was rejected', async () => {
    const region = ground.newRegion({ offer: 'bare-metal', gpusPerNode: 8 });
    await region.seed({ nodes: 1, offer: 'bare-metal', driver: 'ironic', watchedAt: unwatched() });
    const { nodeIds } = await region.seed({
      nodes: 1,
      offer: 'bare-metal',
      driver: 'ironic',
      portRange: [30_000, 30_000],
    });
    const ports = [ssh, { internalPort: 80, protocol: 'tcp' } as const];
    expect(nodesOf(await region.place({ ports }))).toEqual(nodeIds);
  });
});
