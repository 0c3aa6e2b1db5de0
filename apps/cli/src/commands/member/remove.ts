import { findMember, resolveOrganisationId, orgFlag } from '../../account/members.ts';
import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';

export const command = defineCommand({
  name: 'member remove',
  summary: 'Remove a member from an organisation',
  description: 'Their keys for the organisation stop working. Their rentals keep running.',
  positionals: [{ name: 'user', describe: 'email address or user id' }],
  flags: orgFlag,
  examples: {
    'millrace member remove ada@example.com': 'Asks for confirmation',
    'millrace member remove USER_ID --yes': 'In a script',
  },
  operations: ['removeMember'],
  json: { kind: 'record', fields: ['userId', 'removed'] },
  failure: 'Could not remove the member',
  async run(context, { args, flags }) {
    const organisationId = await resolveOrganisationId(context, flags.org);
    const member = await findMember(context, organisationId, args.user);
    await context.confirm(`Remove ${member.email} (${member.role})? Their keys stop working.`);
    await context
      .client()
      .members.remove({ organisationId, userId: member.userId }, { signal: context.signal });
    printResult(context, `Removed ${member.email}.`, { userId: member.userId, removed: true });
  },
});
