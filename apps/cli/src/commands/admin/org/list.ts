import { organisationColumns } from '../../../admin/organisations.ts';
import { defineCommand } from '../../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../../money/limit.ts';

export const command = defineCommand({
  name: 'admin org list',
  summary: 'List all organisations',
  flags: {
    status: {
      type: 'text',
      value: 'STATUS',
      choices: ['active', 'suspended'],
      describe: 'only organisations with this status',
    },
    ...limitFlag,
  },
  examples: {
    'millrace admin org list': 'All organisations',
    'millrace admin org list --status suspended': 'Suspended organisations, with the reason',
  },
  operations: ['adminListOrganisations'],
  json: 'list',
  failure: 'Could not list the organisations',
  run: (context, { flags: { status, limit } }) =>
    printLimitedList(
      context,
      context
        .client()
        .admin.organisations.list({ limit: pageSize(limit), status }, { signal: context.signal }),
      organisationColumns(context),
      { limit, noun: 'organisations', empty: 'No organisations match.' },
    ),
});
