import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import { msToSeconds } from '@millrace/platform/money';
import { counter, gauge } from '@millrace/platform/telemetry';
import { countWrongRows, findingsOf, isClean, type AuditReport } from './checks/audit-report.ts';
import { runAudit } from './auditor.service.ts';
import { auditChecks } from './checks/checks.ts';
import { readAuditState } from './runs.store.ts';

export interface AuditorOptions {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'error' | 'warn' | 'info'>;
  /** How long after an audit the next incremental one begins, in any worker. */
  readonly everyMs: number;
  /** How long after a full audit the next one begins. */
  readonly fullEveryMs: number;
  readonly statementTimeoutMs: number;
}

const POLL_MAX_MS = 30_000;

const runs = counter('millrace_audit_runs_total');
const findings = gauge('millrace_audit_findings');
const cleanAge = gauge('millrace_audit_clean_age_seconds');

/**
 * Audits periodically. Several workers can run this: the last run is in the database, and a lock allows one audit at a time.
 * Drift is logged and counted on every audit until it is repaired, because the checkpoint does not move.
 */
export function startAuditor(options: AuditorOptions): Loop {
  const { clock, log, everyMs } = options;
  const idleMs = Math.min(everyMs, POLL_MAX_MS);
  return startLoop({ name: 'audit', clock, log, idleMs, maxBackoffMs: everyMs }, async (signal) => {
    await auditWhenDue(options, signal);
    return 'idle';
  });
}

/** Audits if due, and records the age of the last clean audit. Null if no audit was due. */
export async function auditWhenDue(
  options: AuditorOptions,
  signal?: AbortSignal,
): Promise<AuditReport | null> {
  const { db, log, statementTimeoutMs } = options;
  const before = await readAuditState(db);
  const isDue = (ageMs: number | null, everyMs: number): boolean => ageMs === null || ageMs >= everyMs;
  const full = isDue(before.lastFullAgeMs, options.fullEveryMs);
  let report: AuditReport | null = null;
  if (full || isDue(before.lastRunAgeMs, options.everyMs)) {
    report = await runAudit(db, {
      kind: full ? 'full' : 'incremental',
      statementTimeoutMs,
      ...(signal === undefined ? {} : { signal }),
    });
    if (report !== null) logReport(report, log);
  }
  // Clear the findings of this process after another process has audited without finding any.
  if (report === null && before.isClean === true) {
    for (const [check, { severity }] of Object.entries(auditChecks)) {
      if (severity === 'error') findings.record(0, { check, severity });
    }
  }
  const { lastCleanAgeMs } = report === null ? before : await readAuditState(db);
  if (lastCleanAgeMs !== null) cleanAge.record(msToSeconds(lastCleanAgeMs));
  return report;
}

function logReport(report: AuditReport, log: AuditorOptions['log']): void {
  const clean = isClean(report.outcomes);
  runs.add(1, { kind: report.kind, outcome: clean ? 'clean' : 'drift' });
  for (const { check, found } of report.outcomes) {
    findings.record(found, { check, severity: auditChecks[check].severity });
  }
  for (const finding of findingsOf(report, 'error'))
    log.error({ finding }, 'audit finding: the ledger has drifted');
  const { kind, durationMs } = report;
  const notices = countWrongRows(report.outcomes, 'notice');
  if (clean) log.info({ kind, durationMs, notices }, 'audit found no drift');
  else log.error({ kind, durationMs, errors: countWrongRows(report.outcomes, 'error') }, 'audit found drift');
}
