import { reasonFlag } from '../../../admin/nodes.ts';
import { findOrganisation, organisationPositional } from '../../../admin/organisations.ts';
import { defineCommand } from '../../../framework/command.ts';
import { printResult } from '../../../framework/output.ts';

export const command = defineCommand({
  name: 'admin org suspend',
  summary: 'Suspend an organisation: its keys are refused within a second',
  positionals: organisationPositional,
  flags: {
    ...reasonFlag,
    'running-work': {
      type: 'text',
      value: 'WHAT',
      choices: ['keep', 'stop'],
      default: 'keep',
      describe: 'what happens to its rentals',
    },
  },
  examples: {
    'millrace admin org suspend acme --reason "unpaid invoice"': 'Its rentals keep running',
    'millrace admin org suspend acme --reason "abuse report 17" --running-work stop':
      'Its rentals are terminated',
  },
  operations: ['adminSuspendOrganisation'],
  json: 'record',
  failure: 'Could not suspend the organisation',
  async run(context, { args, flags }) {
    const { id, name } = await findOrganisation(context, args.organisation);
    const runningWork = flags['running-work'];
    const rest = runningWork === 'stop' ? 'Its rentals are terminated.' : 'Its rentals keep running.';
    await context.confirm(`Suspend ${name} (${id})? All its keys stop working. ${rest}`);
    const suspended = await context
      .client()
      .admin.organisations.suspend(
        { organisationId: id, reason: flags.reason, runningWork },
        { signal: context.signal },
      );
    printResult(
      context,
      `Suspended ${name} (${id}). To lift the suspension: millrace admin org resume ${id}`,
      suspended,
    );
  },
});
