import { findNode, nodePositional, reasonFlag } from '../../../admin/nodes.ts';
import { defineCommand } from '../../../framework/command.ts';
import { printResult } from '../../../framework/output.ts';

export const command = defineCommand({
  name: 'admin node quarantine',
  summary: 'Quarantine a node until an operator has checked it',
  description:
    'Rentals on the node keep running. Nothing new is placed on it until you run millrace admin node resume.',
  positionals: nodePositional,
  flags: reasonFlag,
  examples: {
    'millrace admin node quarantine gpu-17 --reason "ECC errors"': 'By name',
    'millrace admin node quarantine NODE_ID --reason "ECC errors" --json': 'For a script',
  },
  operations: ['adminQuarantineNode'],
  json: 'record',
  failure: 'Could not quarantine the node',
  async run(context, { args, flags }) {
    const { id } = await findNode(context, args.node);

    const node = await context
      .client()
      .admin.nodes.quarantine({ nodeId: id, reason: flags.reason }, { signal: context.signal });
    printResult(
      context,
      `Quarantined ${node.name} (${node.id}); ${String(node.liveRentalCount)} rentals are still on it.`,
      node,
    );
  },
});
