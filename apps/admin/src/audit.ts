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

/** Audits the ledger. Read-only except for the record of the run. */
export const auditCommand: Command = {
  name: 'audit',
  summary: 'check that the ledger is consistent with itself and with its sources',
  flags: {
    full: { describe: 'audit everything, not only changes since the last clean audit' },
    org: { describe: 'audit one organisation in full, by slug or id', value: 'ORG' },
    json: { describe: 'print one JSON object' },
  },
  example: 'millrace-admin audit --full',
  run: async (context, flags) => {
    if (flags['full'] === true && flags['org'] !== undefined) {
      throw new UsageError('An audit of one organisation is always full. Remove --full.');
    }
    const db = await context.db();
    const report = await audit(db, flags);
    context.out(flags['json'] === true ? `${JSON.stringify(report)}\n` : formatAuditReport(report));
    if (!isClean(report.outcomes)) {
      const count = countWrongRows(report.outcomes, 'error');
      throw new CommandError(
        `The ledger is inconsistent: ${count} ${count === 1 ? 'finding' : 'findings'}. See docs/runbooks/auditor.md.`,
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
  if (report === null) throw new CommandError('Another audit is running. Try again when it has finished.');
  return report;
}

async function requireOrgId(db: Db, text: string): Promise<OrgId> {
  const id = parseId('org', text) ?? (await findOrganisationBySlug(db, text))?.id;
  if (id === undefined) throw new CommandError(`There is no organisation ${JSON.stringify(text)}.`);
  return id;
}
