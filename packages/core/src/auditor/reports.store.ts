import type { Reader, Tables } from '@millrace/platform/db';
import { fromUuid, parseId, toUuid, type AuditReportId, type OrgId } from '@millrace/platform/ids';
import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { Severity } from './checks/checks.ts';

/** Reads recorded audits, for operators. */

export interface RecordedAudit {
  readonly id: AuditReportId;
  readonly kind: 'full' | 'incremental';
  readonly snapshotAt: Date;
  readonly since: Date | null;
  readonly durationMs: number;
  readonly isClean: boolean;
  readonly errors: number;
  readonly notices: number;
}

/** A recorded finding. This version may no longer have its check. */
export interface RecordedFinding {
  readonly check: string;
  readonly severity: Severity;
  readonly subject: { readonly kind: string; readonly id: string };
  readonly orgId: OrgId | null;
  readonly expected: string;
  readonly actual: string;
  readonly sentence: string;
}

export interface RecordedReport extends RecordedAudit {
  readonly lookedAt: Readonly<Record<string, number>>;
  readonly findings: readonly RecordedFinding[];
}

export interface AuditFilter {
  readonly kind?: RecordedAudit['kind'];
  readonly isClean?: boolean;
}

const shown = ['id', 'kind', 'snapshot_at', 'since', 'duration_ms', 'is_clean', 'errors', 'notices'] as const;

type AuditRow = Pick<Selectable<Tables['audit_runs']>, (typeof shown)[number]>;

function toAudit(row: AuditRow): RecordedAudit {
  return {
    id: fromUuid('rpt', row.id),
    kind: row.kind === 'full' ? 'full' : 'incremental',
    snapshotAt: row.snapshot_at,
    since: row.since,
    durationMs: Number(row.duration_ms),
    isClean: row.is_clean,
    errors: Number(row.errors),
    notices: Number(row.notices),
  };
}

/** Newest first; one more than the limit, if it exists. */
export async function listAudits(
  reader: Reader,
  filter: AuditFilter,
  page: { readonly limit: number; readonly after: AuditReportId | null },
): Promise<readonly RecordedAudit[]> {
  let query = reader.kysely.selectFrom('audit_runs').select(shown);
  if (filter.kind !== undefined) query = query.where('kind', '=', filter.kind);
  if (filter.isClean !== undefined) query = query.where('is_clean', '=', filter.isClean);
  if (page.after !== null) query = query.where('id', '<', toUuid(page.after));
  const rows = await query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute();
  return rows.map(toAudit);
}

const storedCounts = z.record(z.string(), z.number());
const storedFindings = z.array(
  z.object({
    check: z.string(),
    severity: z.enum(['error', 'notice']),
    subject: z.object({ kind: z.string(), id: z.string() }),
    orgId: z.string().nullable(),
    expected: z.string(),
    actual: z.string(),
    sentence: z.string(),
  }),
);

export async function findAudit(reader: Reader, id: AuditReportId): Promise<RecordedReport | null> {
  const row = await reader.kysely
    .selectFrom('audit_runs')
    .select([...shown, 'looked_at', 'findings'])
    .where('id', '=', toUuid(id))
    .executeTakeFirst();
  if (row === undefined) return null;
  return {
    ...toAudit(row),
    lookedAt: storedCounts.parse(row.looked_at),
    findings: storedFindings.parse(row.findings).map((finding) => ({
      ...finding,
      orgId: finding.orgId === null ? null : parseId('org', finding.orgId),
    })),
  };
}
