import type { Item } from '@millrace/sdk';

export type FleetNode = Item<'adminListNodes'>;

export const statusText = (status: string): string => status.replace(/^node_/, '').replaceAll('_', ' ');

export interface FleetFilter {
  readonly region?: string | undefined;
  readonly provider?: string | undefined;
  readonly status?: string | undefined;
  readonly gpu?: string | undefined;
  /** Part of the node or cluster name, or an id. */
  readonly find?: string | undefined;
}

export function filterNodes(nodes: readonly FleetNode[], filter: FleetFilter): readonly FleetNode[] {
  const find = filter.find?.trim().toLowerCase();
  return nodes.filter(
    (node) =>
      (filter.region === undefined || node.region === filter.region) &&
      (filter.provider === undefined || node.providerId === filter.provider) &&
      (filter.status === undefined || node.status === filter.status) &&
      (filter.gpu === undefined || node.gpus.some(({ gpuType }) => gpuType === filter.gpu)) &&
      (find === undefined ||
        find === '' ||
        [node.name, node.clusterName, node.id, node.statusReason ?? ''].some((text) =>
          text.toLowerCase().includes(find),
        )),
  );
}

export function fleetChoices(nodes: readonly FleetNode[]): {
  readonly regions: readonly string[];
  readonly providers: readonly string[];
  readonly gpus: readonly string[];
} {
  const sorted = (values: Iterable<string>): readonly string[] => [...new Set(values)].toSorted();
  return {
    regions: sorted(nodes.map(({ region }) => region)),
    providers: sorted(nodes.map(({ providerId }) => providerId)),
    gpus: sorted(nodes.flatMap(({ gpus }) => gpus.map(({ gpuType }) => gpuType))),
  };
}
