import { findNode, nodeFields, nodePositional, reasonFlag } from '../../../admin/nodes.ts';
import { defineCommand } from '../../../framework/command.ts';
import { printResult } from '../../../framework/output.ts';

export const command = defineCommand({
  name: 'admin node resume',
  summary: 'Put a drained or quarantined node back into use',

  positionals: nodePositional,
  flags: reasonFlag,
  examples: [
    { command: 'millrace admin node resume gpu-17 --reason "fan replaced"', about: 'By its name' },
    { command: 'millrace admin node resume NODE_ID --reason "fan replaced" --json', about: 'For a script' },
  ],
  operations: ['adminResumeNode'],
  json: { kind: 'record', fields: nodeFields },
  failure: 'Could not put the node back',
  async run(context, { args, flags }) {
    const { id } = await findNode(context, args.node);

    const node = await context
      .client()
      .admin.nodes.resume({ nodeId: id, reason: flags.reason }, { signal: context.signal });
    printResult(context, `Back in use: ${node.name} (${node.id}).`, node);
  },
});
