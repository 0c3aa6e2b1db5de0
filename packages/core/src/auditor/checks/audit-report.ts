import type { OrgId } from '@millrace/platform/ids';
import { auditChecks, type CheckName, type Severity } from './checks.ts';

/** The words of the auditor: what it is asked to look at, and what it says it found. */

/** What a finding is about. The first words are kinds of rows, `thing` is whatever a meter runs for. */
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
  /** What is wrong, for a person. */
  readonly sentence: string;
}

export interface CheckOutcome {
  readonly check: CheckName;
  /** How many rows were judged by it. */
  readonly lookedAt: number;
  /** How many were wrong; `findings` holds the first of them. */
  readonly found: number;
  readonly findings: readonly Finding[];
}

/**
 * `full` re-derives everything from the first row on. `incremental` looks at what was written since the last clean
 * audit, and at everything that is bounded by what exists now. `organisation` is a full audit of one tenant.
 */
export type AuditKind = 'full' | 'incremental' | 'organisation';

export interface AuditReport {
  readonly kind: AuditKind;
  readonly orgId: OrgId | null;
  /** The instant of the snapshot, by the database's clock. */
  readonly snapshotAt: Date;
  /** Incremental: rows written before this instant were judged by an earlier audit. */
  readonly since: Date | null;
  readonly durationMs: number;
  readonly outcomes: readonly CheckOutcome[];
  /** Whether the run, and its marks if it was clean, were written down. */
  readonly recorded: boolean;
}

export function findingsOf(report: AuditReport, severity: Severity): readonly Finding[] {
  return report.outcomes.flatMap(({ findings }) => findings.filter((one) => one.severity === severity));
}

/** How many rows are wrong, those beyond the cap included. */
export function countWrongRows(outcomes: readonly CheckOutcome[], severity: Severity): number {
  return outcomes
    .filter(({ check }) => auditChecks[check].severity === severity)
    .reduce((sum, { found }) => sum + found, 0);
}

/** Notices are for reading; only an error is drift. */
export function isClean(outcomes: readonly CheckOutcome[]): boolean {
  return countWrongRows(outcomes, 'error') === 0;
}

/** Sums what parts of one audit say about the same check, in the order in which checks first appear. */
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
