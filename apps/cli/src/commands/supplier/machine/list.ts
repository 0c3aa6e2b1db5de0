import { paintNodeState, stateText } from '../../../admin/nodes.ts';
import { defineCommand } from '../../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../../money/limit.ts';
import { usdText } from '@millrace/sdk/text';

export const command = defineCommand({
  name: 'supplier machine list',
  summary: 'List your machines: state, price, what is rented, and what keeps one off the marketplace',
  flags: limitFlag,
  examples: {
    'millrace supplier machine list': 'How each one stands',
    'millrace supplier machine list --columns name,shown,why': 'Why something is not shown',
  },
  operations: ['supplierListMachines'],
  json: 'list',
  failure: 'Could not list the machines',
  run: (context, { flags: { limit } }) =>
    printLimitedList(
      context,
      context.client().supplier.machines.list({ limit: pageSize(limit) }, { signal: context.signal }),
      [
        { name: 'id', value: ({ id }) => id },
        { name: 'name', value: ({ name }) => name },
        { name: 'region', value: ({ region }) => region },
        {
          name: 'state',
          value: ({ status }) => stateText(status),
          paint: (text) => paintNodeState(context, text),
        },
        {
          name: 'price',
          align: 'right',
          value: ({ pricePerGpuHourNanoUsd: price }) => (price === null ? 'none' : `${usdText(price)}/h`),
        },
        {
          name: 'rented',
          align: 'right',
          value: ({ gpusRented, gpus }) => `${String(gpusRented)}/${String(gpus.length)}`,
        },
        { name: 'shown', value: ({ shown }) => shown },
        { name: 'why', value: ({ notShownBecause, statusReason }) => notShownBecause ?? statusReason },
        { name: 'approval', value: ({ approval }) => approval, extra: true },
        { name: 'reliability', value: ({ reliability }) => reliability?.score, extra: true },
      ],
      {
        limit,
        noun: 'machines',
        empty: 'You have none yet. Let one join: millrace supplier join-token create --help',
      },
    ),
});
