import type { OrgId } from '@millrace/platform/ids';
import { auditChecks, type CheckName, type Severity } from './checks.ts';

/** Values of the auditor: the kinds of audits and their results. */

/** The kind of row of a finding. `thing` is the resource of a meter. */
export type SubjectKind =
  | 'transfer'
  | 'account'
  | 'hold'
  | 'budget'
  | 'organisation'
  | 'meter'
  | 'thing'
  | 'payment'
  | 'lease'
  | 'usage'
  | 'payout'
  | 'statement'
  | 'invoice'
  | 'allocation';

export interface Finding {
  readonly check: CheckName;
  readonly severity: Severity;
  readonly subject: { readonly kind: SubjectKind; readonly id: string };
  readonly orgId: OrgId | null;
  readonly expected: string;
  readonly actual: string;
  /** The problem, for an operator. */
  readonly sentence: string;
}

export interface CheckOutcome {
  readonly check: CheckName;
  /** Number of checked rows. */
  readonly lookedAt: number;
  /** Number of wrong rows; `findings` has the first of them. */
  readonly found: number;
  readonly findings: readonly Finding[];
}

/**
 * `full` derives everything from the first row, or from the opening balances of the archive. `incremental` checks rows since the last clean audit, and everything that is
 * bounded by current rows. `organisation` is a full audit of one tenant.
 */
export type AuditKind = 'full' | 'incremental' | 'organisation';

export interface AuditReport {
  readonly kind: AuditKind;
  readonly orgId: OrgId | null;
  /** The time of the snapshot, by the database's clock. */
  readonly snapshotAt: Date;
  /** Incremental: earlier rows were checked by an earlier audit. */
  readonly since: Date | null;
  /** The end of the archived months, whose opening balances a full audit starts from. Null: nothing is archived. */
  readonly archivedThrough: Date | null;
  /** The end of the archived requests: later ones are checked. Null: nothing is archived. */
  readonly requestsThrough: Date | null;
  readonly durationMs: number;
  readonly outcomes: readonly CheckOutcome[];
  /** Whether the run, and its checkpoints if it was clean, were stored. */
  readonly recorded: boolean;
}

export function findingsOf(report: AuditReport, severity: Severity): readonly Finding[] {
  return report.outcomes.flatMap(({ findings }) => findings.filter((one) => one.severity === severity));
}

/** Includes the rows beyond the cap. */
export function countWrongRows(outcomes: readonly CheckOutcome[], severity: Severity): number {
  return outcomes
    .filter(({ check }) => auditChecks[check].severity === severity)
    .reduce((sum, { found }) => sum + found, 0);
}

/** Only errors are drift, notices are not. */
export function isClean(outcomes: readonly CheckOutcome[]): boolean {
  return countWrongRows(outcomes, 'error') === 0;
}

/** Sums the outcomes of one check over all chunks, in the order in which checks first appear. */
export function mergeOutcomes(outcomes: readonly CheckOutcome[], cap: number): readonly CheckOutcome[] {
  const merged = new Map<CheckName, CheckOutcome>();
  for (const part of outcomes) {
    const before = merged.get(part.check);
    merged.set(
      part.check,
      before === undefined
        ? part
        : {
            check: part.check,
            lookedAt: before.lookedAt + part.lookedAt,
            found: before.found + part.found,
            findings: [...before.findings, ...part.findings].slice(0, cap),
          },
    );
  }
  return [...merged.values()];
}
