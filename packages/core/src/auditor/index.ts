export {
  countWrongRows,
  findingsOf,
  isClean,
  type AuditKind,
  type AuditReport,
  type CheckOutcome,
  type Finding,
  type SubjectKind,
} from './checks/audit-report.ts';
export { auditDefaults, computeReport, runAudit, type AuditOptions } from './auditor.service.ts';
export { auditChecks, type CheckName, type Severity } from './checks/checks.ts';
export { auditWhenDue, startAuditor, type AuditorOptions } from './auditor.job.ts';
export { readAuditState } from './runs.store.ts';
export { formatAuditReport } from './format-report.ts';
export { serveAuditReports, type AuditReportRoutes } from './reports.routes.ts';
