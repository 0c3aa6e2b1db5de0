import { msToSeconds } from '@millrace/platform/money';
import { countWrongRows, type AuditReport, type CheckOutcome } from './checks/audit-report.ts';
import { auditChecks, type Severity } from './checks/checks.ts';

/** Formats an audit for operators: scope, checked rows, problems and remedies. Pure. */
export function formatAuditReport(report: AuditReport): string {
  const lines = [formatHeading(report), '', ...formatTable(report.outcomes)];
  for (const severity of ['error', 'notice'] as const) lines.push(...formatSection(report, severity));
  lines.push('', formatSummary(report), '');
  return lines.join('\n');
}

function formatHeading(report: AuditReport): string {
  const at = report.snapshotAt.toISOString();
  switch (report.kind) {
    case 'full':
      return `Full audit as of ${at}, from ${formatStart(report)}.`;
    case 'incremental':
      return `Incremental audit since ${report.since?.toISOString() ?? 'the beginning'}, as of ${at}.`;
    case 'organisation':
      return `Audit of organisation ${report.orgId ?? ''}, as of ${at}, from ${formatStart(report)}.`;
  }
}

function formatStart({ archivedThrough, requestsThrough }: AuditReport): string {
  const transfers =
    archivedThrough === null ? 'the first transfer' : `the opening balances of ${dayOf(archivedThrough)}`;
  const requests = requestsThrough === null ? 'the first request' : `requests of ${dayOf(requestsThrough)}`;
  return `${transfers} and ${requests}`;
}

const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

function formatTable(outcomes: readonly CheckOutcome[]): readonly string[] {
  const widest = Math.max(...outcomes.map(({ lookedAt }) => String(lookedAt).length), 'rows'.length);
  return [
    `  ${'rows'.padStart(widest)}  found  rule`,
    ...outcomes.map(({ check, lookedAt, found }) => {
      const mark = found === 0 ? '    -' : String(found).padStart(5);
      return `  ${String(lookedAt).padStart(widest)}  ${mark}  ${auditChecks[check].rule}`;
    }),
  ];
}

const titles: Readonly<Record<Severity, string>> = { error: 'Drift', notice: 'Notices' };

function formatSection(report: AuditReport, severity: Severity): readonly string[] {
  const outcomes = report.outcomes.filter(
    ({ check, found }) => found > 0 && auditChecks[check].severity === severity,
  );
  if (outcomes.length === 0) return [];
  return ['', titles[severity], ...outcomes.flatMap(formatDetails)];
}

function formatDetails(outcome: CheckOutcome): readonly string[] {
  const { check, found, findings } = outcome;
  const rest = found - findings.length;
  return [
    '',
    `  ${check}: ${auditChecks[check].rule}`,
    ...findings.map(({ subject, orgId, sentence }) => {
      const of = orgId === null || orgId === subject.id ? '' : ` of ${orgId}`;
      return `    ${subject.kind} ${subject.id}${of}: ${sentence}`;
    }),
    ...(rest > 0 ? [`    and ${rest} more`] : []),
    `    Remedy: ${auditChecks[check].remedy}`,
    `    Details: docs/runbooks/auditor.md#${check}`,
  ];
}

function formatSummary(report: AuditReport): string {
  const errors = countWrongRows(report.outcomes, 'error');
  const rules = report.outcomes.length;
  const took = `${rules} rules in ${msToSeconds(report.durationMs).toFixed(1)} s.`;
  if (errors === 0) return `No drift found: ${took}`;
  return `${errors} wrong ${errors === 1 ? 'row' : 'rows'} found: ${took}`;
}
