import { findMember, resolveOrganisationId, orgFlag } from '../../account/members.ts';
import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';

export const command = defineCommand({
  name: 'member update',
  summary: 'Change the role of a member',
  positionals: [{ name: 'user', describe: 'email address or user id' }],
  flags: {
    role: {
      type: 'text',
      value: 'ROLE',
      required: true,
      choices: ['owner', 'admin', 'member', 'billing', 'viewer'],
      describe: 'the new role',
    },
    ...orgFlag,
  },
  examples: {
    'millrace member update ada@example.com --role admin': 'By email address',
    'millrace member update USER_ID --role viewer --org ORGANISATION_ID': 'In another organisation',
  },
  operations: ['updateMember'],
  json: 'record',
  failure: 'Could not change the role',
  async run(context, { args, flags }) {
    const organisationId = await resolveOrganisationId(context, flags.org);
    const { userId } = await findMember(context, organisationId, args.user);
    const changed = await context
      .client()
      .members.update({ organisationId, userId, role: flags.role }, { signal: context.signal });
    printResult(context, `${changed.email} is now ${changed.role}.`, changed);
  },
});
