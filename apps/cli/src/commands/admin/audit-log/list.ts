import { auditColumns, auditFields, auditFlags, auditQuery } from '../../../admin/audit-log.ts';
import { defineCommand } from '../../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../../money/limit.ts';

export const command = defineCommand({
  name: 'admin audit-log list',
  summary: 'Who did what in every organisation, newest first',
  flags: {
    org: { type: 'text', value: 'ID', describe: 'only this organisation' },
    ...auditFlags,
    ...limitFlag,
  },
  examples: [
    { command: 'millrace admin audit-log list --limit 20', about: 'The latest' },
    {
      command: 'millrace admin audit-log list --org ORGANISATION_ID --json',
      about: 'One organisation, for a script',
    },
  ],
  operations: ['adminListAuditLog'],
  json: { kind: 'list', fields: auditFields },
  failure: 'Could not read the audit log',
  run: (context, { flags }) =>
    printLimitedList(
      context,
      context.client().admin.auditLog.list(
        {
          limit: pageSize(flags.limit),
          ...auditQuery(flags),
          ...(flags.org === undefined ? {} : { organisationId: flags.org }),
        },
        { signal: context.signal },
      ),
      auditColumns,
      { limit: flags.limit, noun: 'entries', empty: 'Nothing of that kind happened.' },
    ),
});
