/** The simulated fleet of the demo: its settings, as an operator would write them. */

interface NodeGroup {
  readonly gpuModel: string;
  readonly count: number;
  readonly fabric?: string;
}

export const MAINTAINED_NODE = 'usc1-h200-02';

const images = ['ubuntu-24.04', 'ubuntu-22.04', 'debian-12'];

function nodesOf(prefix: string, groups: readonly NodeGroup[], silentNode: string | null): readonly object[] {
  return groups.flatMap(({ gpuModel, count, fabric }) =>
    Array.from({ length: count }, (_, index) => {
      const name = `${prefix}-${gpuModel}-${String(index + 1).padStart(2, '0')}`;
      return { name, gpuModel, fabric: fabric ?? null, ...(name === silentNode && { silent: true }) };
    }),
  );
}

export const demoRegions = ['us-central-1', 'us-east-1', 'eu-north-2'] as const;

/** Settings of `MILLRACE_PROVIDERS`. `silentNode` does not respond. */
export function demoProviders(silentNode: string | null): readonly object[] {
  const cluster = (
    name: string,
    region: string,
    block: number,
    groups: readonly NodeGroup[],
    more: object = {},
  ) => ({
    name,
    region,
    connectionType: 'infiniband',
    settings: {
      firstAddress: `127.0.${block}.1`,
      images,
      nodes: nodesOf(name.replace(/-(vm|metal)$/, ''), groups, silentNode),
    },
    ...more,
  });
  const metal = { offer: 'bare-metal' };
  return [
    { id: 'mock', variant: 'mock' },
    {
      id: 'provider-v1',
      variant: 'V1',
      driver: 'mock',
      regions: demoRegions.map((region) => ({ region, customPorts: true })),
      clusters: [
        cluster('usc1-vm', 'us-central-1', 120, [
          { gpuModel: 'h100', count: 6 },
          { gpuModel: 'h200', count: 3 },
        ]),
        cluster('use1-vm', 'us-east-1', 121, [
          { gpuModel: 'h100', count: 4 },
          { gpuModel: 'b200', count: 2 },
        ]),
        cluster('eun2-vm', 'eu-north-2', 122, [
          { gpuModel: 'h100', count: 3 },
          { gpuModel: 'h200', count: 2 },
          { gpuModel: 'b200', count: 2 },
        ]),
        cluster(
          'usc1-metal',
          'us-central-1',
          123,
          [{ gpuModel: 'h100', count: 4, fabric: 'usc1-ib' }],
          metal,
        ),
      ],
    },
    {
      id: 'marketplace',
      variant: 'V2',
      driver: 'mock',
      regions: demoRegions.map((region) => ({ region, customPorts: true })),
    },
  ];
}

/** Settings of `MILLRACE_STORAGE_NODES`. */
export const demoStorage: readonly object[] = [
  {
    name: 'mock-storage',
    region: 'mock-region',
    kind: 'mock',
    vips: '10.250.0.1-10.250.255.254',
    capacityGb: 1_000_000,
  },
  {
    name: 'eun2-storage',
    region: 'eu-north-2',
    kind: 'mock',
    vips: '10.251.0.1-10.251.255.254',
    capacityGb: 200_000,
  },
  {
    name: 'usc1-storage',
    region: 'us-central-1',
    kind: 'mock',
    vips: '10.252.0.1-10.252.255.254',
    capacityGb: 200_000,
  },
];
