import { nodeColumns } from '../../../admin/nodes.ts';
import { defineCommand } from '../../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../../money/limit.ts';

export const command = defineCommand({
  name: 'admin node list',
  summary: 'List nodes with their state and how many of their GPUs are rented',
  flags: {
    status: {
      type: 'text',
      value: 'STATE',
      choices: ['registering', 'ready', 'draining', 'offline', 'quarantined', 'removed'],
      describe: 'only those in this state',
    },
    cluster: { type: 'text', value: 'ID', describe: 'only those of this cluster' },
    ...limitFlag,
  },
  examples: {
    'millrace admin node list': 'The whole fleet',
    'millrace admin node list --status offline --columns name,since,why': 'What is away, and why',
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
      { limit: flags.limit, noun: 'nodes', empty: 'There are none.' },
    ),
});
