import { findNode, nodePositional, reasonFlag } from '../../../admin/nodes.ts';
import { defineCommand } from '../../../framework/command.ts';
import { printResult } from '../../../framework/output.ts';
import { parseDurationFlag } from '../../../rentals/flags.ts';

export const command = defineCommand({
  name: 'admin node drain',
  summary: 'Drain a node: running work continues, new work is placed elsewhere',
  description:
    'Rentals on the node run until they end. --deadline shows by when the node should be empty; nothing is terminated at that time.',
  positionals: nodePositional,
  flags: {
    ...reasonFlag,
    deadline: { type: 'text', value: 'DURATION', describe: 'when the node should be empty, such as 2h' },
  },
  examples: {
    'millrace admin node drain gpu-17 --reason "fan replacement"': 'By name',
    'millrace admin node drain NODE_ID --reason "fan replacement" --deadline 2h': 'With a deadline',
  },
  operations: ['adminDrainNode'],
  json: 'record',
  failure: 'Could not drain the node',
  async run(context, { args, flags }) {
    const { id } = await findNode(context, args.node);
    const { deadline } = flags;
    const deadlineAt =
      deadline === undefined
        ? {}
        : {
            deadlineAt: new Date(
              context.clock.now().getTime() + parseDurationFlag('deadline', deadline) * 1000,
            ).toISOString(),
          };
    const node = await context
      .client()
      .admin.nodes.drain({ nodeId: id, reason: flags.reason, ...deadlineAt }, { signal: context.signal });
    printResult(
      context,
      `Draining ${node.name} (${node.id}); ${String(node.liveRentalCount)} rentals are still on it.`,
      node,
    );
  },
});
