import {
  countWrongRows,
  formatAuditReport,
  isClean,
  runAudit,
  type AuditReport,
} from '@millrace/core/auditor';
import { findOrganisationBySlug } from '@millrace/core/identity';
import type { Db } from '@millrace/platform/db';
import { parseId, type OrgId } from '@millrace/platform/ids';
import { optionalText, CommandError, UsageError, type Command, type FlagValues } from './command.ts';

/** Re-derives the books and says what does not agree. Reads only, but for the record of the run itself. */
export const auditCommand: Command = {
  name: 'audit',
  summary: 'check that the books agree with themselves and with their causes',
  flags: {
    full: { describe: 'look at everything, not only at what was written since the last clean audit' },
    org: { describe: 'look at all of one organisation, by its slug or id', value: 'ORG' },
    json: { describe: 'print one JSON object for programs' },
  },
  example: 'millrace-admin audit --full',
  run: async (context, flags) => {
    if (flags['full'] === true && flags['org'] !== undefined) {
      throw new UsageError('An audit of one organisation is always full: leave out --full.');
    }
    const db = await context.db();
    const report = await audit(db, flags);
    context.out(flags['json'] === true ? `${JSON.stringify(report)}\n` : formatAuditReport(report));
    if (!isClean(report.outcomes)) {
      const count = countWrongRows(report.outcomes, 'error');
      throw new CommandError(
        `The books have drifted: ${count} ${count === 1 ? 'finding' : 'findings'}. See docs/runbooks/auditor.md.`,
      );
    }
  },
};

async function audit(db: Db, flags: FlagValues): Promise<AuditReport> {
  const org = optionalText(flags, 'org');
  const report =
    org === undefined
      ? await runAudit(db, { kind: flags['full'] === true ? 'full' : 'incremental', whenBusy: 'unrecorded' })
      : await runAudit(db, { kind: 'organisation', orgId: await requireOrgId(db, org) });
  if (report === null) throw new CommandError('Another audit is running. Try again when it is done.');
  return report;
}

async function requireOrgId(db: Db, text: string): Promise<OrgId> {
  const id = parseId('org', text) ?? (await findOrganisationBySlug(db, text))?.id;
  if (id === undefined) throw new CommandError(`There is no organisation ${JSON.stringify(text)}.`);
  return id;
}
