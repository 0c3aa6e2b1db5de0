import type { Item } from '@millrace/sdk';
import { splitBy } from '@millrace/sdk/text';
import { statusText, type FleetNode } from '../common/fleet-nodes.ts';

/** Layout of the fleet map: state of each GPU, grouping of nodes, and the drawn shapes. */

export type FleetCluster = Item<'adminListClusters'>;
type FleetGpu = FleetNode['gpus'][number];

export const cellStates = [
  'free',
  'sold',
  'draining',
  'registering',
  'offline',
  'quarantined',
  'broken',
] as const;
export type CellState = (typeof cellStates)[number];

export const cellLabels: Readonly<Record<CellState, string>> = {
  free: 'free: available to rent',
  sold: 'sold: rented',
  draining: 'draining: empty, accepts no new rentals',
  registering: 'registering: reading the hardware',
  offline: 'offline: node not reachable',
  quarantined: 'quarantined: accepts no new rentals',
  broken: 'out of use: missing, faulty or replaced',
};

/** State of a GPU cell. Offline and quarantined nodes take precedence over rentals, and rentals over draining. */
export function cellState(
  node: Pick<FleetNode, 'status'>,
  gpu: Pick<FleetGpu, 'state' | 'allocatedTo'>,
): CellState {
  if (node.status === 'node_offline') return 'offline';
  if (node.status === 'node_quarantined') return 'quarantined';
  if (gpu.allocatedTo !== null) return 'sold';
  if (gpu.state !== 'present') return 'broken';
  if (node.status === 'node_registering') return 'registering';
  return node.status === 'node_draining' ? 'draining' : 'free';
}

export type Counts = Readonly<Record<CellState, number>> & {
  readonly nodes: number;
  readonly gpus: number;
  /** Rented GPUs, including those on unreachable nodes. */
  readonly rented: number;
};

export function countsOf(nodes: readonly FleetNode[]): Counts {
  const counts = { nodes: nodes.length, gpus: 0, rented: 0 } as Record<keyof Counts, number>;
  for (const state of cellStates) counts[state] = 0;
  for (const node of nodes) {
    for (const gpu of node.gpus) {
      counts.gpus += 1;
      counts[cellState(node, gpu)] += 1;
      if (gpu.allocatedTo !== null) counts.rented += 1;
    }
  }
  return counts;
}

/** `8 GPUs: 5 sold, 3 free`; zero counts are omitted. */
export function countsText(counts: Counts): string {
  const texts = cellStates
    .filter((state) => counts[state] > 0)
    .map((state) => `${String(counts[state])} ${state === 'broken' ? 'out of use' : state}`);
  const gpus = `${String(counts.gpus)} ${counts.gpus === 1 ? 'GPU' : 'GPUs'}`;
  return texts.length === 0 ? 'no GPUs reported yet' : `${gpus}: ${texts.join(', ')}`;
}

/** Text alternative for a node. */
export function nodeText(node: FleetNode): string {
  return `${node.name}: ${statusText(node.status)}, ${countsText(countsOf([node]))}`;
}

export interface ClusterGroup {
  readonly id: string;
  readonly name: string;
  readonly providerId: string;
  readonly cluster: FleetCluster | null;
  readonly nodes: readonly FleetNode[];
  readonly counts: Counts;
}

export interface RegionGroup {
  readonly region: string;
  readonly clusters: readonly ClusterGroup[];
  readonly counts: Counts;
}

// Shared, because creating a collator costs more than comparing.
const { compare } = new Intl.Collator('en', { numeric: true });
const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  compare(a.name, b.name);

/** Regions, clusters and nodes, each sorted by name; includes clusters without nodes. */
export function groupFleet(
  clusters: readonly FleetCluster[],
  nodes: readonly FleetNode[],
  { withEmpty }: { readonly withEmpty: boolean },
): readonly RegionGroup[] {
  const nodesOf = Map.groupBy(nodes, ({ clusterId }) => clusterId);
  const known = new Map(clusters.map((cluster) => [cluster.id, cluster]));
  const ids = new Set([...nodesOf.keys(), ...(withEmpty ? known.keys() : [])]);
  const groups: (ClusterGroup & { readonly region: string })[] = [];
  for (const id of ids) {
    const own = (nodesOf.get(id) ?? []).toSorted(byName);
    const cluster = known.get(id) ?? null;
    const [first] = own;
    const { name, providerId, region } =
      cluster ??
      (first === undefined
        ? { name: id, providerId: '', region: '' }
        : { name: first.clusterName, providerId: first.providerId, region: first.region });
    groups.push({ id, name, providerId, region, cluster, nodes: own, counts: countsOf(own) });
  }
  return [...Map.groupBy(groups, ({ region }) => region)]
    .map(([region, own]) => ({
      region,
      clusters: own.toSorted(byName),
      counts: countsOf(own.flatMap((group) => group.nodes)),
    }))
    .toSorted((a, b) => compare(a.region, b.region));
}

const cell = 10;
const gap = 3;
const step = cell + gap;
const perRow = 8;

/** Path of one cell. Shapes differ by state, so that colour is not required. */
function shapeAt(state: CellState, x: number, y: number): string {
  const [x1, y1] = [x + cell, y + cell];
  const box = `M${x} ${y}H${x1}V${y1}H${x}Z`;
  const [mx, my] = [x + cell * 0.5, y + cell * 0.5];
  switch (state) {
    case 'sold':
      return box;
    case 'free':
      // Frame: the inner square has the opposite winding, so it is not filled.
      return `${box}M${x + 2} ${y + 2}V${y1 - 2}H${x1 - 2}V${y + 2}Z`;
    case 'draining':
      return `M${x} ${y}V${y1}H${x1}Z`;
    case 'registering':
      return `M${x} ${my}H${x1}V${y1}H${x}Z`;
    case 'offline':
      return `M${x} ${y + 2}L${x + 2} ${y}L${mx} ${my - 2}L${x1 - 2} ${y}L${x1} ${y + 2}L${mx + 2} ${my}L${x1} ${y1 - 2}L${x1 - 2} ${y1}L${mx} ${my + 2}L${x + 2} ${y1}L${x} ${y1 - 2}L${mx - 2} ${my}Z`;
    case 'quarantined':
      return `M${mx} ${y}L${x1} ${my}L${mx} ${y1}L${x} ${my}Z`;
    case 'broken':
      return `M${x} ${my - 1}H${x1}V${my + 1}H${x}Z`;
  }
}

export interface NodeDrawing {
  readonly width: number;
  readonly height: number;
  /** One path per state, so that a node has few elements for any number of GPUs. */
  readonly shapes: readonly { readonly state: CellState; readonly path: string }[];
}

/** Eight cells per row; a node without known GPUs has one empty row. */
export function drawNode(node: Pick<FleetNode, 'status' | 'gpus'>): NodeDrawing {
  const paths = new Map<CellState, string>();
  node.gpus.forEach((gpu, index) => {
    const [row, column] = splitBy(index, perRow);
    const state = cellState(node, gpu);
    paths.set(state, (paths.get(state) ?? '') + shapeAt(state, column * step, row * step));
  });
  const [rows] = splitBy(node.gpus.length + perRow - 1, perRow);
  return {
    width: Math.min(perRow, Math.max(1, node.gpus.length)) * step - gap,
    height: Math.max(1, rows) * step - gap,
    shapes: [...paths].map(([state, path]) => ({ state, path })),
  };
}

export function drawLegendCell(state: CellState): NodeDrawing {
  return { width: cell, height: cell, shapes: [{ state, path: shapeAt(state, 0, 0) }] };
}

/** Poll interval: longer for large fleets, because each response contains the whole fleet. */
export function refreshMs(nodeCount: number): number {
  return nodeCount <= 200 ? 2_000 : 10_000;
}
