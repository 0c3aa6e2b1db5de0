import { findNode, nodePositional, reasonFlag } from '../../../admin/nodes.ts';
import { defineCommand } from '../../../framework/command.ts';
import { printResult } from '../../../framework/output.ts';

export const command = defineCommand({
  name: 'admin node resume',
  summary: 'Return a drained or quarantined node to service',

  positionals: nodePositional,
  flags: reasonFlag,
  examples: {
    'millrace admin node resume gpu-17 --reason "fan replaced"': 'By name',
    'millrace admin node resume NODE_ID --reason "fan replaced" --json': 'For a script',
  },
  operations: ['adminResumeNode'],
  json: 'record',
  failure: 'Could not resume the node',
  async run(context, { args, flags }) {
    const { id } = await findNode(context, args.node);

    const node = await context
      .client()
      .admin.nodes.resume({ nodeId: id, reason: flags.reason }, { signal: context.signal });
    printResult(context, `Node ${node.name} (${node.id}) is back in service.`, node);
  },
});
