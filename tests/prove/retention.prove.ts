import { findingsOf, runAudit, type AuditReport } from '@millrace/core/auditor';
import { makeDueInvoices } from '@millrace/core/invoices';
import { applyLedger, requireLedgerSuccess, type LedgerCommand } from '@millrace/core/ledger';
import { openMeters, sweepMeters } from '@millrace/core/metering';
import { createArchiver } from '@millrace/core/retention';
import { systemClock, type SimulatedClock } from '@millrace/platform/clock';
import { createDb, type Db } from '@millrace/platform/db';
import { createIdSource, type OrgId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { nanoUsd } from '@millrace/platform/money';
import { outboxShards } from '@millrace/platform/outbox';
import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { ensureUp } from '@millrace/services';
import {
  createOrganisation,
  createTestDatabase,
  hybridClock,
  longDbTimeouts,
  testClock,
  type TestDatabase,
} from '@millrace/testing';

const MONTHS = 36;
/** Months that stay in the ledger. */
const RETAINED_MONTHS = 3;
const SWEEPS_A_MONTH = 6;
const MARGIN_MS = 120_000;
const quiet = createLogger({ name: 'retention', level: 'silent' });
const shards = Array.from({ length: outboxShards }, (_, shard) => shard);

export const proof = defineProof({
  name: 'retention',
  proves:
    'Over 36 simulated months of charges, meters, invoices, audits and archives, every full audit is clean, hot tables and the work of an incremental audit stop growing, a late duplicate of each archived charge moves no money, and the archive sums to the opening balances.',
  short: (run) => prove(run, { organisations: 3, charges: 20 }),
  long: (run) => prove(run, { organisations: 30, charges: 1_500 }),
});

interface Size {
  readonly organisations: number;
  /** Of each organisation in each month, beside its meter. */
  readonly charges: number;
}

interface Cloud {
  readonly db: Db;
  readonly clock: SimulatedClock;
  readonly database: TestDatabase;
  readonly orgIds: readonly OrgId[];
}

interface MonthFigures {
  readonly hotRows: number;
  readonly hotBytes: number;
  readonly auditedRows: number;
  readonly auditMs: number;
}

const addMonths = (at: Date, months: number): Date =>
  new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months));
const monthNumber = (at: Date): number => at.getUTCFullYear() * 12 + at.getUTCMonth();

async function prove(run: ProofRun, size: Size): Promise<ProofReport> {
  await ensureUp(['postgres']);
  await using database = await createTestDatabase();
  const now = systemClock.now();
  const start = addMonths(now, -MONTHS - RETAINED_MONTHS);
  const clock = testClock(start.getTime() + 1);
  const ids = createIdSource({ clock, cell: 1 });
  const db = createDb({
    ...longDbTimeouts,
    url: database.url,
    poolSize: 4,
    clock: hybridClock(clock),
    ids,
    log: quiet,
  });
  try {
    const orgIds: OrgId[] = [];
    for (let n = 0; n < size.organisations; n += 1) orgIds.push(await createOrganisation(db));
    const cloud = { db, clock, database, orgIds };
    await open(cloud);
    const figures: MonthFigures[] = [];
    const failures: string[] = [];
    let auditedAtMs = clock.nowMs();
    for (let month = 0; month < MONTHS; month += 1) {
      const end = addMonths(start, month + 1);
      await liveThroughMonth(cloud, month, end, size);
      const audit = await auditIncrement(cloud, auditedAtMs);
      auditedAtMs = clock.nowMs();
      await archive(cloud, monthNumber(now) - monthNumber(addMonths(end, -RETAINED_MONTHS)));
      const full = await requireReport(runAudit(db, { kind: 'full', whenBusy: 'unrecorded' }));
      for (const [kind, report] of Object.entries({ incremental: audit, full })) {
        failures.push(
          ...findingsOf(report, 'error').map(
            ({ sentence }) => `month ${month + 1}, ${kind} audit: ${sentence}`,
          ),
        );
      }
      figures.push(await measure(cloud, audit));
      run.note(`month ${month + 1}: ${JSON.stringify(figures.at(-1))}`);
    }
    const repeated = await repeatArchivedCharges(cloud, size);
    return await report(cloud, figures, [...failures, ...repeated]);
  } finally {
    await db.close();
  }
}

const isolation = 'read committed';

async function open({ db, clock, orgIds }: Cloud): Promise<void> {
  const amount = nanoUsd(10n ** 15n);
  for (const orgId of orgIds) {
    await db.transaction({ name: 'fund', isolation }, async (tx) => {
      const [granted] = await applyLedger(tx, [
        {
          ...{
            do: 'credit',
            kind: 'grant',
            orgId,
            mode: 'live',
            cause: { kind: 'grant', id: 'first' },
            step: 'once',
            amount,
          },
          ...{ from: [{ account: { kind: 'grants' }, amount }], description: 'Grant' },
        },
      ]);
      requireLedgerSuccess(granted);
      await openMeters(tx, orgId, [
        {
          ...{
            mode: 'live',
            cause: { kind: 'server', id: 'first' },
            name: 'gpu',
            product: 'rental',
            quantity: 8,
            unit: 'gpu',
          },
          ...{ ratePerHour: nanoUsd(2_000_000_000n), funding: { kind: 'ahead' }, at: clock.now() },
        },
      ]);
    });
  }
}

const charge = (orgId: OrgId, id: string): LedgerCommand => {
  const amount = nanoUsd(1_000_000_007n);
  return {
    ...{
      do: 'debit',
      kind: 'charge',
      orgId,
      mode: 'live',
      cause: { kind: 'work', id },
      step: 'once',
      amount,
    },
    ...{
      to: [{ account: { kind: 'revenue', product: 'inference' }, amount }],
      whenShort: 'refuse',
      description: 'Work',
    },
  };
};

const chargesOfMonth = ({ orgIds }: Cloud, month: number, size: Size): readonly LedgerCommand[] =>
  orgIds.flatMap((orgId) => Array.from({ length: size.charges }, (_, n) => charge(orgId, `${month}-${n}`)));

async function applyAll({ db }: Cloud, commands: readonly LedgerCommand[]): Promise<number> {
  let replayed = 0;
  for (let at = 0; at < commands.length; at += 500) {
    const results = await db.transaction({ name: 'charge', isolation }, (tx) =>
      applyLedger(tx, commands.slice(at, at + 500)),
    );
    replayed += results.filter((result) => requireLedgerSuccess(result).replayed).length;
  }
  return replayed;
}

/** Ends just after the month, when its invoices are due. */
async function liveThroughMonth(cloud: Cloud, month: number, end: Date, size: Size): Promise<void> {
  const { db, clock } = cloud;
  const stepMs = Math.floor((end.getTime() - clock.nowMs()) / SWEEPS_A_MONTH);
  for (let step = 0; step < SWEEPS_A_MONTH; step += 1) {
    if (step === 1) await applyAll(cloud, chargesOfMonth(cloud, month, size));
    await clock.advance(stepMs);
    await sweepMeters(db, { shards, log: quiet });
  }
  await clock.advance(end.getTime() + 5 * 3_600_000 - clock.nowMs());
  await sweepMeters(db, { shards, log: quiet });
  while ((await makeDueInvoices(db, { log: quiet, limit: 100, issuer: 'Example' })) >= 100);
}

async function requireReport(audit: Promise<AuditReport | null>): Promise<AuditReport> {
  const report = await audit;
  if (report === null) throw new Error('Another audit was running.');
  return report;
}

/** The checkpoint has the time of the database, and the ids the simulated time: the margin includes the difference. */
async function auditIncrement({ db }: Cloud, auditedAtMs: number): Promise<AuditReport> {
  const marginMs = systemClock.nowMs() - auditedAtMs + MARGIN_MS;
  return requireReport(runAudit(db, { kind: 'incremental', marginMs }));
}

async function archive({ db, database }: Cloud, afterMonths: number): Promise<void> {
  const step = createArchiver(db, { log: quiet, afterMonths, statementTimeoutMs: 600_000, batch: 2_000 });
  while ((await step()) === 'busy');
  await database.query('vacuum ledger_transfers');
  await database.query('vacuum ledger_entries');
}

async function numberOf({ database }: Cloud, text: string): Promise<number> {
  const { rows } = await database.query<{ n: string }>(`select (${text})::text as n`);
  return Number(rows[0]?.n);
}

async function measure(cloud: Cloud, audit: AuditReport): Promise<MonthFigures> {
  return {
    hotRows: await numberOf(
      cloud,
      `(select count(*) from ledger_transfers) + (select count(*) from ledger_entries)`,
    ),
    hotBytes: await numberOf(
      cloud,
      `pg_total_relation_size('ledger_transfers') + pg_total_relation_size('ledger_entries')`,
    ),
    auditedRows: audit.outcomes.reduce((sum, { lookedAt }) => sum + lookedAt, 0),
    auditMs: audit.durationMs,
  };
}

async function repeatArchivedCharges(cloud: Cloud, size: Size): Promise<readonly string[]> {
  const state = `select md5(string_agg(a::text, ',' order by id)) from ledger_accounts a`;
  const { rows: before } = await cloud.database.query(state);
  const commands = chargesOfMonth(cloud, 0, size);
  const replayed = await applyAll(cloud, commands);
  const { rows: after } = await cloud.database.query(state);
  return [
    ...(replayed === commands.length
      ? []
      : [`${commands.length - replayed} late duplicates were charged again`]),
    ...(JSON.stringify(before) === JSON.stringify(after) ? [] : ['late duplicates changed an account']),
  ];
}

const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

async function report(
  cloud: Cloud,
  figures: readonly MonthFigures[],
  failures: readonly string[],
): Promise<ProofReport> {
  const [year1, year3] = [figures[11], figures[35]];
  if (year1 === undefined || year3 === undefined) throw new Error('A month is missing.');
  const differences = await numberOf(cloud, 'select count(*) from ledger_archive_differences()');
  const archived = await numberOf(cloud, 'select count(*) from archived_ledger_transfers');
  const checks: readonly (readonly [boolean, string])[] = [
    [archived > 0, 'nothing was archived'],
    [differences === 0, `${differences} accounts differ from their archived entries`],
    // Rare transfers stay; there are none after the first month.
    [year3.hotRows <= year1.hotRows * 1.1, `hot rows grew from ${year1.hotRows} to ${year3.hotRows}`],
    [
      year3.auditedRows <= year1.auditedRows * 1.1,
      `audited rows grew from ${year1.auditedRows} to ${year3.auditedRows}`,
    ],
  ];
  return {
    figures: {
      'archived transfers': archived,
      'hot rows, month 12': year1.hotRows,
      'hot rows, month 36': year3.hotRows,
      'hot bytes, month 12': year1.hotBytes,
      'hot bytes, month 36': year3.hotBytes,
      'rows checked by an incremental audit, month 12': year1.auditedRows,
      'rows checked by an incremental audit, month 36': year3.auditedRows,
      'median ms of incremental audits, months 7 to 12': medianOf(
        figures.slice(6, 12).map(({ auditMs }) => auditMs),
      ),
      'median ms of incremental audits, months 31 to 36': medianOf(
        figures.slice(30).map(({ auditMs }) => auditMs),
      ),
      'accounts that differ from the archive': differences,
    },
    failures: [...failures, ...checks.flatMap(([isRight, failure]) => (isRight ? [] : [failure]))],
  };
}
