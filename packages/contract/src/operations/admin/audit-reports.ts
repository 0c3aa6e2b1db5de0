import { z } from 'zod';
import {
  adminOperation,
  organisationId,
  pageOf,
  pageQuery,
  prefixedId,
  timestamp,
} from '../../operation-builders.ts';

/** Operator operations: reports of the ledger audit. */

const reportId = prefixedId('rpt', 'an audit report');
const auditKind = z.enum(['full', 'incremental']).meta({
  description: '`full` checks everything, `incremental` only rows written since the last clean audit.',
});
const severity = z.enum(['error', 'notice']).meta({
  description: 'An error is a difference between records that must agree; a notice is information.',
});

const reportFields = {
  id: reportId,
  kind: auditKind,
  snapshotAt: timestamp.meta({ description: 'The audit includes everything committed before this time.' }),
  since: timestamp
    .nullable()
    .meta({ description: 'Incremental only: the time of the audit that this one continues.' }),
  durationMs: z.int().nonnegative(),
  isClean: z.boolean().meta({ description: 'No errors. Notices do not count.' }),
  errors: z.int().nonnegative(),
  notices: z.int().nonnegative(),
};

const report = z.object(reportFields).meta({ id: 'AuditReport' });
const reportWithFindings = z
  .object({
    ...reportFields,
    checks: z.array(
      z.object({
        check: z.string(),
        rule: z.string().meta({ description: 'The rule that must be true.' }),
        lookedAt: z.int().nonnegative().meta({ description: 'How many rows the check examined.' }),
      }),
    ),
    findings: z
      .array(
        z.object({
          check: z.string(),
          severity,
          subject: z.object({ kind: z.string(), id: z.string() }),
          organisationId: organisationId.nullable(),
          expected: z.string(),
          actual: z.string(),
          sentence: z.string(),
          remedy: z.string().meta({ description: 'How to repair it.' }),
        }),
      )
      .meta({ description: 'The first findings of each check; the counts include all findings.' }),
  })
  .meta({ id: 'AuditReportWithFindings' });

export const adminAuditOperations = {
  adminListAuditReports: adminOperation('GET /v2/admin/audit-reports', {
    scope: 'admin:read',
    summary: 'List ledger audits, newest first',
    description: 'Kept for 90 days.',
    tags: ['money'],
    query: pageQuery.extend({
      kind: auditKind.optional(),
      clean: z
        .enum(['true', 'false'])
        .optional()
        .meta({ description: 'Only audits without errors, or only audits with errors.' }),
    }),
    response: { status: 200, schema: pageOf(report) },
  }),
  adminGetAuditReport: adminOperation('GET /v2/admin/audit-reports/{reportId}', {
    scope: 'admin:read',
    summary: 'Read one audit with its findings',
    tags: ['money'],
    params: z.object({ reportId }),
    response: { status: 200, schema: reportWithFindings },
    notFoundReason: 'AUDIT_REPORT_NOT_FOUND',
  }),
} as const;
