import { reasonFlag } from '../../../admin/nodes.ts';
import { findOrganisation, organisationPositional } from '../../../admin/organisations.ts';
import { defineCommand } from '../../../framework/command.ts';
import { printResult } from '../../../framework/output.ts';

export const command = defineCommand({
  name: 'admin org resume',
  summary: 'Lift the suspension of an organisation',
  positionals: organisationPositional,
  flags: reasonFlag,
  examples: {
    'millrace admin org resume acme --reason "invoice paid"': 'By slug',
    'millrace admin org resume ORGANISATION_ID --reason "invoice paid" --json': 'For a script',
  },
  operations: ['adminResumeOrganisation'],
  json: 'record',
  failure: 'Could not lift the suspension',
  async run(context, { args, flags }) {
    const { id, name } = await findOrganisation(context, args.organisation);
    const resumed = await context
      .client()
      .admin.organisations.resume({ organisationId: id, reason: flags.reason }, { signal: context.signal });
    printResult(context, `${name} (${id}) is active again.`, resumed);
  },
});
