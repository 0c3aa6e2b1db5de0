import { z } from 'zod';
import {
  adminOperation,
  organisationId,
  pageOf,
  pageQuery,
  prefixedId,
  timestamp,
} from '../../operation-builders.ts';

/** Operators: what the auditor of the books found. */

const reportId = prefixedId('rpt', 'an audit report');
const auditKind = z.enum(['full', 'incremental']).meta({
  description: '`full` looks at everything, `incremental` at what was written since the last clean audit.',
});
const severity = z.enum(['error', 'notice']).meta({
  description: 'An error is drift between books that must agree; a notice is for reading.',
});

const reportFields = {
  id: reportId,
  kind: auditKind,
  snapshotAt: timestamp.meta({ description: 'Everything that was committed before this moment was seen.' }),
  since: timestamp.nullable().meta({ description: 'Incremental only: the audit that it continues.' }),
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
        rule: z.string().meta({ description: 'What must hold.' }),
        lookedAt: z.int().nonnegative().meta({ description: 'How many rows were judged by it.' }),
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
          remedy: z.string().meta({ description: 'What to do about it.' }),
        }),
      )
      .meta({ description: 'The first of each check; the counts are of all.' }),
  })
  .meta({ id: 'AuditReportWithFindings' });

export const adminAuditOperations = {
  adminListAuditReports: adminOperation('GET /v2/admin/audit-reports', {
    scope: 'admin:read',
    summary: 'Audits of the books that were made, newest first',
    description: 'Kept for 90 days.',
    tags: ['money'],
    query: pageQuery.extend({
      kind: auditKind.optional(),
      clean: z
        .enum(['true', 'false'])
        .optional()
        .meta({ description: 'Only those without errors, or only those with some.' }),
    }),
    response: { status: 200, schema: pageOf(report) },
  }),
  adminGetAuditReport: adminOperation('GET /v2/admin/audit-reports/{reportId}', {
    scope: 'admin:read',
    summary: 'What one audit looked at and found',
    tags: ['money'],
    params: z.object({ reportId }),
    response: { status: 200, schema: reportWithFindings },
    notFoundReason: 'AUDIT_REPORT_NOT_FOUND',
  }),
} as const;
