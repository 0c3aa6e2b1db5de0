import { paintNodeState, stateText } from '../../../admin/nodes.ts';
import { defineCommand } from '../../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../../money/limit.ts';
import { usdText } from '@millrace/sdk/text';

export const command = defineCommand({
  name: 'supplier machine list',
  summary: 'List your machines with status, price, rentals and obstacles',
  flags: limitFlag,
  examples: {
    'millrace supplier machine list': 'All machines with their status',
    'millrace supplier machine list --columns name,shown,why': 'Why a machine is not for rent',
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
        empty: 'No machines yet. Enrol one: millrace supplier join-token create --help',
      },
    ),
});
