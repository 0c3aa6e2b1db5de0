import type { Output } from '@millrace/sdk';

type Report = Output<'adminGetAuditReport'>;

export interface CheckResult {
  readonly check: string;
  readonly rule: string;
  readonly lookedAt: number;
  /** Listed findings only; a check with many lists the first ones. */
  readonly errors: number;
  readonly notices: number;
}

export function checkResults(report: Pick<Report, 'checks' | 'findings'>): readonly CheckResult[] {
  const found = Map.groupBy(report.findings, ({ check }) => check);
  return report.checks
    .map((each) => {
      const own = found.get(each.check) ?? [];
      const errors = own.filter(({ severity }) => severity === 'error').length;
      return { ...each, errors, notices: own.length - errors };
    })
    .toSorted((a, b) => b.errors - a.errors || b.notices - a.notices);
}
