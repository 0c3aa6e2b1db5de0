import type { ResponseBody, Contract } from '@millrace/contract';
import type { Db } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { HttpServer } from '@millrace/platform/http';
import { parseId } from '@millrace/platform/ids';
import { pageById, positionFromCursor } from '../identity/index.ts';
import { auditChecks, type CheckDefinition } from './checks/checks.ts';
import { findAudit, listAudits, type RecordedAudit, type RecordedReport } from './reports.store.ts';

export interface AuditReportRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
}

/** Operator routes for recorded audits and their findings. */
export function serveAuditReports({ server, operations, db }: AuditReportRoutes): void {
  server.serve(operations.adminListAuditReports, async ({ query: { limit, cursor, kind, clean } }) => {
    const filter = {
      ...(kind === undefined ? {} : { kind }),
      ...(clean === undefined ? {} : { isClean: clean === 'true' }),
    };
    const after = positionFromCursor('rpt', cursor);
    return pageById(await listAudits(db, filter, { limit, after }), limit, toWireAudit);
  });

  server.serve(operations.adminGetAuditReport, async ({ params }) => {
    const id = parseId('rpt', params.reportId);
    const report = id === null ? null : await findAudit(db, id);
    if (report === null) throw new Fault('AUDIT_REPORT_NOT_FOUND');
    return toWireReport(report);
  });
}

type Operations = Contract['operations'];

function toWireAudit(
  audit: RecordedAudit,
): ResponseBody<Operations['adminListAuditReports']>['items'][number] {
  const { snapshotAt, since, ...rest } = audit;
  return { ...rest, snapshotAt: snapshotAt.toISOString(), since: since?.toISOString() ?? null };
}

function toWireReport(report: RecordedReport): ResponseBody<Operations['adminGetAuditReport']> {
  const { lookedAt, findings, ...audit } = report;
  const known: Readonly<Record<string, CheckDefinition>> = auditChecks;
  return {
    ...toWireAudit(audit),
    checks: Object.entries(lookedAt).map(([check, count]) => ({
      check,
      rule: known[check]?.rule ?? 'This version no longer has this check.',
      lookedAt: count,
    })),
    findings: findings.map(({ orgId, ...finding }) => ({
      ...finding,
      organisationId: orgId,
      remedy: known[finding.check]?.remedy ?? 'See the auditor runbook.',
    })),
  };
}
