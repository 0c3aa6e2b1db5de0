import type { Tx } from '@millrace/platform/db';
import { fromUuid, type AnyId, type IdKind } from '@millrace/platform/ids';
import { sql, type RawBuilder } from 'kysely';
import type { CheckOutcome, Finding, SubjectKind } from '../checks/audit-report.ts';
import { auditChecks, type CheckName } from '../checks/checks.ts';

type Sql = RawBuilder<unknown>;

/** Rows that are read once, and the checks on them. */
export interface Probe {
  /** A select with at least `subject` and `org_id`. The checks refer to it as `q`. */
  readonly rows: Sql;
  readonly about: SubjectKind;
  readonly checks: readonly ProbeCheck[];
}

export interface ProbeCheck {
  readonly name: CheckName;
  readonly expected: Sql;
  readonly actual: Sql;
  /**
   * True for a wrong row; default: expected and actual differ. Null counts as right, so compare with `is distinct from` where null
   * is wrong.
   */
  readonly wrong?: Sql;
  /** The rows to check; default: all. */
  readonly judges?: Sql;
  /** The subject of the finding, if it is not the row itself, with the column of its id. */
  readonly subject?: { readonly kind: SubjectKind; readonly id: Sql };
}

interface FoundRow {
  subject: string;
  org_id: string | null;
  expected: string | null;
  actual: string | null;
}

const wrongRows = ({ judges = sql`true`, wrong, actual, expected }: ProbeCheck): Sql =>
  sql`(${judges}) and (${wrong ?? sql`(${actual}) <> (${expected})`})`;

/** Counts in one pass; only a check with wrong rows reads them, up to `cap`. */
export async function runProbe(tx: Tx, probe: Probe, cap: number): Promise<readonly CheckOutcome[]> {
  const counts = probe.checks.flatMap((check, index) => [
    sql`count(*) filter (where ${check.judges ?? sql`true`}) as ${sql.id(`looked_${index}`)}`,
    sql`count(*) filter (where ${wrongRows(check)}) as ${sql.id(`wrong_${index}`)}`,
  ]);
  const { rows } = await sql<Record<string, bigint>>`
    select ${sql.join(counts)} from (${probe.rows}) as q`.execute(tx.kysely);
  const outcomes: CheckOutcome[] = [];
  for (const [index, check] of probe.checks.entries()) {
    const found = Number(rows[0]?.[`wrong_${index}`] ?? 0n);
    outcomes.push({
      check: check.name,
      lookedAt: Number(rows[0]?.[`looked_${index}`] ?? 0n),
      found,
      findings: found === 0 ? [] : await readFindings(tx, probe, check, cap),
    });
  }
  return outcomes;
}

async function readFindings(tx: Tx, probe: Probe, check: ProbeCheck, cap: number): Promise<Finding[]> {
  const { rows } = await sql<FoundRow>`
    select (${check.subject?.id ?? sql`q.subject`})::text as subject, q.org_id::text as org_id,
           (${check.expected})::text as expected, (${check.actual})::text as actual
      from (${probe.rows}) as q
     where ${wrongRows(check)}
     order by 1 limit ${cap}`.execute(tx.kysely);
  const { severity, text } = auditChecks[check.name];
  const kind = check.subject?.kind ?? probe.about;
  return rows.map((row) => {
    const subject = { kind, id: toPublicId(kind, row.subject) };
    const expected = row.expected ?? 'nothing';
    const actual = row.actual ?? 'nothing';
    return {
      check: check.name,
      severity,
      subject,
      orgId: row.org_id === null ? null : fromUuid('org', row.org_id),
      expected,
      actual,
      sentence: text({ id: subject.id, expected, actual }),
    };
  });
}

const idKinds: Readonly<Record<SubjectKind, IdKind | null>> = {
  transfer: 'trf',
  account: 'lac',
  hold: 'hld',
  budget: 'bdg',
  organisation: 'org',
  meter: 'mtr',
  thing: null,
  payment: 'pay',
  lease: 'lse',
  usage: 'req',
  payout: 'pyo',
  statement: 'stm',
  invoice: 'ivc',
  allocation: 'alc',
};

/** The public id. An invalid id is shown as it is stored. */
function toPublicId(kind: SubjectKind, text: string): AnyId | string {
  const prefix = idKinds[kind];
  if (prefix === null) return text;
  try {
    return fromUuid(prefix, text);
  } catch {
    return text;
  }
}
