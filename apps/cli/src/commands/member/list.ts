import { memberColumns, resolveOrganisationId, orgFlag } from '../../account/members.ts';
import { defineCommand } from '../../framework/command.ts';
import { printList } from '../../framework/output.ts';

export const command = defineCommand({
  name: 'member list',
  summary: 'List the members of an organisation',
  flags: orgFlag,
  examples: {
    'millrace member list': 'Your current organisation',
    'millrace member list --columns email,role': 'Only two columns',
  },
  operations: ['listMembers'],
  json: 'list',
  failure: 'Could not list the members',
  async run(context, { flags }) {
    const organisationId = await resolveOrganisationId(context, flags.org);
    const members = await context
      .client()
      .members.list({ organisationId, limit: 200 }, { signal: context.signal })
      .all();
    printList(context, members, memberColumns, { empty: 'No members.' });
  },
});
