import { organisationColumns, organisationFields } from '../../../admin/organisations.ts';
import { defineCommand } from '../../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../../money/limit.ts';

export const command = defineCommand({
  name: 'admin org list',
  summary: 'List every organisation',
  flags: {
    status: { type: 'text', value: 'STATUS', choices: ['active', 'suspended'], describe: 'only these' },
    ...limitFlag,
  },
  examples: [
    { command: 'millrace admin org list', about: 'All of them' },
    { command: 'millrace admin org list --status suspended', about: 'Those that are suspended, and why' },
  ],
  operations: ['adminListOrganisations'],
  json: { kind: 'list', fields: organisationFields },
  failure: 'Could not list the organisations',
  run: (context, { flags: { status, limit } }) =>
    printLimitedList(
      context,
      context
        .client()
        .admin.organisations.list(
          { limit: pageSize(limit), ...(status === undefined ? {} : { status }) },
          { signal: context.signal },
        ),
      organisationColumns(context),
      { limit, noun: 'organisations', empty: 'There are none.' },
    ),
});
