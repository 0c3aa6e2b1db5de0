import { fleetRows } from '../../admin/fleet.ts';
import { defineCommand } from '../../framework/command.ts';
import { printList } from '../../framework/output.ts';

export const command = defineCommand({
  name: 'admin fleet',
  summary: 'Show nodes and GPUs by region, and how many are available',
  examples: {
    'millrace admin fleet': 'Rented, available, unreachable and faulty GPUs',
    'millrace admin fleet --json': 'For a script',
  },
  operations: ['adminListNodes'],
  json: {
    kind: 'list',
    fields: ['region', 'gpuType', 'nodes', 'ready', 'away', 'gpus', 'rented', 'free', 'bad'],
  },
  failure: 'Could not read the fleet',
  async run(context) {
    const nodes = await context.client().admin.nodes.list({ limit: 200 }, { signal: context.signal }).all();
    const { io } = context;
    printList(
      context,
      fleetRows(nodes),
      [
        { name: 'region', value: ({ region }) => region },
        { name: 'gpu', value: ({ gpuType }) => gpuType },
        { name: 'nodes', align: 'right', value: (line) => line.nodes },
        { name: 'ready', align: 'right', value: ({ ready }) => ready },
        {
          name: 'away',
          align: 'right',
          value: ({ away }) => away,
          paint: (text, { away }) => (away > 0 ? io.paint('red', text) : text),
        },
        { name: 'gpus', align: 'right', value: ({ gpus }) => gpus },
        { name: 'rented', align: 'right', value: ({ rented }) => rented },
        { name: 'free', align: 'right', value: ({ free }) => free, paint: (text) => io.paint('green', text) },
        {
          name: 'bad',
          align: 'right',
          value: ({ bad }) => bad,
          paint: (text, { bad }) => (bad > 0 ? io.paint('red', text) : text),
        },
      ],
      { empty: 'No nodes yet. Register a cluster: millrace admin cluster create --help' },
    );
  },
});
