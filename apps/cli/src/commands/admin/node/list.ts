import { nodeColumns, nodeFields } from '../../../admin/nodes.ts';
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
  examples: [
    { command: 'millrace admin node list', about: 'The whole fleet' },
    {
      command: 'millrace admin node list --status offline --columns name,since,why',
      about: 'What is away, and why',
    },
  ],
  operations: ['adminListNodes'],
  json: { kind: 'list', fields: nodeFields },
  failure: 'Could not list the nodes',
  run: (context, { flags }) =>
    printLimitedList(
      context,
      context.client().admin.nodes.list(
        {
          limit: pageSize(flags.limit),
          ...(flags.status === undefined ? {} : { status: `node_${flags.status}` as const }),
          ...(flags.cluster === undefined ? {} : { clusterId: flags.cluster }),
        },
        { signal: context.signal },
      ),
      nodeColumns(context),
      { limit: flags.limit, noun: 'nodes', empty: 'There are none.' },
    ),
});
