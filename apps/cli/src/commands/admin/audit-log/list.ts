import { auditColumns, auditFlags, auditQuery } from '../../../admin/audit-log.ts';
import { defineCommand } from '../../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../../money/limit.ts';

export const command = defineCommand({
  name: 'admin audit-log list',
  summary: 'Show the audit log of all organisations, newest first',
  flags: {
    org: { type: 'text', value: 'ID', describe: 'only this organisation' },
    ...auditFlags,
    ...limitFlag,
  },
  examples: {
    'millrace admin audit-log list --limit 20': 'The newest entries',
    'millrace admin audit-log list --org ORGANISATION_ID --json': 'One organisation, for a script',
  },
  operations: ['adminListAuditLog'],
  json: 'list',
  failure: 'Could not read the audit log',
  run: (context, { flags }) =>
    printLimitedList(
      context,
      context.client().admin.auditLog.list(
        {
          limit: pageSize(flags.limit),
          ...auditQuery(flags),
          organisationId: flags.org,
        },
        { signal: context.signal },
      ),
      auditColumns,
      { limit: flags.limit, noun: 'entries', empty: 'No entries match.' },
    ),
});
