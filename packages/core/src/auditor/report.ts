import { msToSeconds } from '@millrace/platform/money';
import { countFound, type AuditReport, type CheckOutcome } from './auditor.ts';
import { checks, type Severity } from './checks.ts';

/** An audit as a page for people: what was asked, what was looked at, what is wrong and what to do. Pure. */
export function formatReport(report: AuditReport): string {
  const lines = [heading(report), '', ...table(report.outcomes)];
  for (const severity of ['error', 'notice'] as const) lines.push(...section(report, severity));
  lines.push('', verdict(report), '');
  return lines.join('\n');
}

function heading(report: AuditReport): string {
  const at = report.snapshotAt.toISOString();
  switch (report.kind) {
    case 'full':
      return `Audit of everything, as of ${at}.`;
    case 'incremental':
      return `Audit of what was written since ${report.since?.toISOString() ?? 'the beginning'}, as of ${at}.`;
    case 'organisation':
      return `Audit of organisation ${report.orgId ?? ''}, as of ${at}.`;
  }
}

function table(outcomes: readonly CheckOutcome[]): readonly string[] {
  const widest = Math.max(...outcomes.map(({ lookedAt }) => String(lookedAt).length), 'rows'.length);
  return [
    `  ${'rows'.padStart(widest)}  found  what must hold`,
    ...outcomes.map(({ check, lookedAt, found }) => {
      const mark = found === 0 ? '    -' : String(found).padStart(5);
      return `  ${String(lookedAt).padStart(widest)}  ${mark}  ${checks[check].rule}`;
    }),
  ];
}

const titles: Readonly<Record<Severity, string>> = { error: 'Drift', notice: 'To know' };

function section(report: AuditReport, severity: Severity): readonly string[] {
  const outcomes = report.outcomes.filter(
    ({ check, found }) => found > 0 && checks[check].severity === severity,
  );
  if (outcomes.length === 0) return [];
  return ['', titles[severity], ...outcomes.flatMap(details)];
}

function details(outcome: CheckOutcome): readonly string[] {
  const { check, found, findings } = outcome;
  const rest = found - findings.length;
  return [
    '',
    `  ${check}: ${checks[check].rule}`,
    ...findings.map(({ subject, orgId, sentence }) => {
      const of = orgId === null || orgId === subject.id ? '' : ` of ${orgId}`;
      return `    ${subject.kind} ${subject.id}${of}: ${sentence}`;
    }),
    ...(rest > 0 ? [`    and ${rest} more`] : []),
    `    What to do: ${checks[check].remedy}`,
    `    More: docs/runbooks/auditor.md#${check}`,
  ];
}

function verdict(report: AuditReport): string {
  const errors = countFound(report.outcomes, 'error');
  const rules = report.outcomes.length;
  const took = `${rules} rules in ${msToSeconds(report.durationMs).toFixed(1)} s.`;
  if (errors === 0) return `No drift found: ${took}`;
  return `${errors} ${errors === 1 ? 'thing is' : 'things are'} wrong: ${took}`;
}
