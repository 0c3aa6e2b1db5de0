import { describe, expect, it } from 'vitest';
import {
  cellState,
  cellStates,
  countsOf,
  countsText,
  groupFleet,
  drawLegendCell,
  nodeText,
  drawNode,
} from './fleet-layout.ts';
import { fleetChoices, filterNodes } from '../common/fleet-nodes.ts';
import { makeCluster, makeFleet, makeNode } from '../fleet.fixture.ts';

describe('cellState', () => {
  const present = { state: 'present', allocatedTo: null } as const;
  const rented = { state: 'present', allocatedTo: '17' } as const;

  it('is free or sold on a ready node', () => {
    expect(cellState({ status: 'node_ready' }, present)).toBe('free');
    expect(cellState({ status: 'node_ready' }, rented)).toBe('sold');
  });

  it('stays sold on a draining node, where free GPUs are draining', () => {
    expect(cellState({ status: 'node_draining' }, rented)).toBe('sold');
    expect(cellState({ status: 'node_draining' }, present)).toBe('draining');
  });

  it('shows an offline or quarantined node before a rental', () => {
    expect(cellState({ status: 'node_offline' }, rented)).toBe('offline');
    expect(cellState({ status: 'node_quarantined' }, rented)).toBe('quarantined');
  });

  it('is broken if the GPU is missing or faulty, unless it is rented', () => {
    for (const state of ['missing', 'faulty', 'replaced'] as const) {
      expect(cellState({ status: 'node_ready' }, { state, allocatedTo: null })).toBe('broken');
      expect(cellState({ status: 'node_ready' }, { state, allocatedTo: '17' })).toBe('sold');
    }
  });

  it('has a distinct shape per state, so that colour is not required', () => {
    const shapes = cellStates.map((state) => drawLegendCell(state).shapes[0]?.path);
    expect(new Set(shapes).size).toBe(cellStates.length);
  });
});

describe('counts', () => {
  it('count every GPU once, and rented GPUs on every node', () => {
    const nodes = [
      makeNode({ status: 'node_ready', sold: 3, gpus: 8 }),
      makeNode({ status: 'node_offline', sold: 2, gpus: 4 }),
    ];
    const counts = countsOf(nodes);
    expect(counts).toMatchObject({ nodes: 2, gpus: 12, rented: 5, sold: 3, free: 5, offline: 4 });
    expect(cellStates.reduce((sum, state) => sum + counts[state], 0)).toBe(counts.gpus);
  });

  it('are described without zero counts', () => {
    expect(nodeText(makeNode({ name: 'gpu-1', sold: 3, gpus: 8 }))).toBe(
      'gpu-1: ready, 8 GPUs: 5 free, 3 sold',
    );
    expect(countsText(countsOf([]))).toBe('no GPUs reported yet');
  });
});

describe('groupFleet', () => {
  const north = makeCluster({ name: 'north', region: 'eu-north-2' });
  const empty = makeCluster({ name: 'empty', region: 'us-east-1' });

  it('sorts regions and clusters by name, with numeric order', () => {
    const nodes = ['gpu-10', 'gpu-2', 'gpu-1'].map((name) => makeNode({ name, cluster: north }));
    const groups = groupFleet([empty, north], nodes, { withEmpty: true });
    expect(groups.map(({ region }) => region)).toEqual(['eu-north-2', 'us-east-1']);
    expect(groups[0]?.clusters[0]?.nodes.map(({ name }) => name)).toEqual(['gpu-1', 'gpu-2', 'gpu-10']);
    expect(groups[1]?.clusters[0]).toMatchObject({ name: 'empty', nodes: [] });
  });

  it('omits empty clusters when a filter is set', () => {
    const groups = groupFleet([empty, north], [makeNode({ cluster: north })], { withEmpty: false });
    expect(groups.map(({ region }) => region)).toEqual(['eu-north-2']);
  });

  it('includes nodes of an unknown cluster', () => {
    const groups = groupFleet([], [makeNode({ cluster: north })], { withEmpty: true });
    expect(groups[0]?.clusters[0]).toMatchObject({ name: 'north', cluster: null });
  });
});

describe('filters', () => {
  const nodes = makeFleet(40);
  it('combines the filters region, status, GPU and name', () => {
    for (const region of fleetChoices(nodes).regions) {
      const found = filterNodes(nodes, { region, status: 'node_ready' });
      expect(found.every((node) => node.region === region && node.status === 'node_ready')).toBe(true);
    }
    expect(filterNodes(nodes, { find: ' NODE-7 ' }).map(({ name }) => name)).toContain('node-7');
    expect(filterNodes(nodes, {})).toHaveLength(40);
    expect(filterNodes(nodes, { gpu: 'none-such' })).toEqual([]);
  });
});

describe('drawNode', () => {
  it('draws one shape per state for any number of GPUs', () => {
    const picture = drawNode(makeNode({ gpus: 16, sold: 5 }));
    expect(picture.shapes).toHaveLength(2);
    expect(picture.height).toBeGreaterThan(picture.shapes.length);
    const drawn = picture.shapes.find(({ state }) => state === 'sold')?.path.split('Z').length;
    expect(drawn).toBe(5 + 1);
  });

  it('draws a node without known GPUs', () => {
    expect(drawNode(makeNode({ gpus: 0 }))).toMatchObject({ shapes: [] });
  });

  it('draws fewer elements than GPUs for a thousand nodes', () => {
    const nodes = makeFleet(1_000);
    const groups = groupFleet([], nodes, { withEmpty: true });
    const elements = groups
      .flatMap(({ clusters }) => clusters.flatMap((group) => group.nodes))
      .reduce((sum, node) => sum + drawNode(node).shapes.length, 0);
    expect(countsOf(nodes).gpus).toBe(8_000);
    expect(elements).toBeLessThan(3_000);
  });
});
