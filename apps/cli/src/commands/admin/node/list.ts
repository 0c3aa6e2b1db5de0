import { nodeColumns } from '../../../admin/nodes.ts';
import { defineCommand } from '../../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../../money/limit.ts';

export const command = defineCommand({
  name: 'admin node list',
  summary: 'List nodes with their status and rented GPUs',
  flags: {
    status: {
      type: 'text',
      value: 'STATE',
      choices: ['registering', 'ready', 'draining', 'offline', 'quarantined', 'removed'],
      describe: 'only nodes with this status',
    },
    cluster: { type: 'text', value: 'ID', describe: 'only nodes of this cluster' },
    ...limitFlag,
  },
  examples: {
    'millrace admin node list': 'The whole fleet',
    'millrace admin node list --status offline --columns name,since,why':
      'Unreachable nodes, with the reason',
  },
  operations: ['adminListNodes'],
  json: 'list',
  failure: 'Could not list the nodes',
  run: (context, { flags }) =>
    printLimitedList(
      context,
      context.client().admin.nodes.list(
        {
          limit: pageSize(flags.limit),
          ...(flags.status === undefined ? {} : { status: `node_${flags.status}` as const }),
          clusterId: flags.cluster,
        },
        { signal: context.signal },
      ),
      nodeColumns(context),
      { limit: flags.limit, noun: 'nodes', empty: 'No nodes match.' },
    ),
});
