import { gpuCounts, gpuTypes, stateText, type Node } from './nodes.ts';

/** The nodes of one region with one GPU type. */
export interface FleetRow {
  readonly region: string;
  readonly gpuType: string;
  readonly nodes: number;
  readonly ready: number;
  readonly away: number;
  readonly gpus: number;
  readonly rented: number;
  readonly free: number;
  readonly bad: number;
}

/** Totals by region and GPU type. Only GPUs of ready nodes count as available. */
export function fleetRows(nodes: readonly Node[]): readonly FleetRow[] {
  const groups = Map.groupBy(nodes, (node) => `${node.region}\n${gpuTypes(node.gpus) || 'none'}`);
  return [...groups]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, members]) => {
      const [region = '', gpuType = ''] = key.split('\n');
      const counts = members.map((node) => ({ node, ...gpuCounts(node.gpus) }));
      const sum = (of: (each: (typeof counts)[number]) => number): number =>
        counts.reduce((total, each) => total + of(each), 0);
      const isReady = ({ node }: { readonly node: Node }): boolean => stateText(node.status) === 'ready';
      return {
        region,
        gpuType,
        nodes: members.length,
        ready: counts.filter(isReady).length,
        away: members.filter(({ status }) => ['offline', 'quarantined'].includes(stateText(status))).length,
        gpus: sum(({ total }) => total),
        rented: sum(({ used }) => used),
        free: sum((each) => (isReady(each) ? each.total - each.used : 0)),
        bad: sum(({ bad }) => bad),
      };
    });
}
