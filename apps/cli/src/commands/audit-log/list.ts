import { auditColumns, auditFlags, auditQuery } from '../../admin/audit-log.ts';
import { defineCommand } from '../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../money/limit.ts';

export const command = defineCommand({
  name: 'audit-log list',
  summary: 'Show the audit log of your organisation, newest first',
  flags: { ...auditFlags, ...limitFlag },
  examples: {
    'millrace audit-log list': 'The newest entries',
    'millrace audit-log list --resource KEY_ID --columns when,who,action,from': 'All entries of one resource',
  },
  operations: ['listAuditLog'],
  json: 'list',
  failure: 'Could not read the audit log',
  run: (context, { flags }) =>
    printLimitedList(
      context,
      context
        .client()
        .auditLog.list({ limit: pageSize(flags.limit), ...auditQuery(flags) }, { signal: context.signal }),
      auditColumns,
      { limit: flags.limit, noun: 'entries', empty: 'No entries match.' },
    ),
});
