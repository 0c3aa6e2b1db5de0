import { findingsOf, runAudit, type AuditReport } from '@millrace/core/auditor';
import { makeDueInvoices } from '@millrace/core/invoices';
import { applyLedger, requireLedgerSuccess, type LedgerCommand } from '@millrace/core/ledger';
import { openMeters, sweepMeters } from '@millrace/core/metering';
import { createArchiver, createUsageArchiver } from '@millrace/core/retention';
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
import { createPartitions, startInference, type Inference } from './retention/requests.ts';

const MONTHS = 36;
/** Months whose charges stay in the ledger, and whose requests keep their details. */
const RETAINED_MONTHS = 3;
const SWEEPS_A_MONTH = 6;
const MARGIN_MS = 120_000;
const MINUTE_MS = 60_000;
const quiet = createLogger({ name: 'retention', level: 'silent' });
const shards = Array.from({ length: outboxShards }, (_, shard) => shard);

export const proof = defineProof({
  name: 'retention',
  proves:
    'Over 36 simulated months of charges, meters, credit leases, requests, invoices, audits and archives, every full audit is clean, hot tables and the work of an incremental audit stop growing, a late duplicate of each archived charge and of each archived request moves no money, and the archive sums to the opening balances.',
  short: (run) => prove(run, { organisations: 3, charges: 20, requests: 20 }),
  long: (run) => prove(run, { organisations: 20, charges: 500, requests: 300 }),
});

interface Size {
  readonly organisations: number;
  /** Of each organisation in each month, beside its meter. */
  readonly charges: number;
  /** As charges. */
  readonly requests: number;
}

interface Cloud {
  readonly db: Db;
  readonly clock: SimulatedClock;
  readonly database: TestDatabase;
  readonly orgIds: readonly OrgId[];
  readonly inference: Inference;
}

interface MonthFigures {
  readonly hotRows: number;
  readonly hotBytes: number;
  readonly usageRows: number;
  readonly usageBytes: number;
  readonly leaseRows: number;
  readonly auditedRows: number;
  readonly auditMs: number;
}

const addMonths = (at: Date, months: number): Date =>
  new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months));
const monthNumber = (at: Date): number => at.getUTCFullYear() * 12 + at.getUTCMonth();

async function prove(run: ProofRun, size: Size): Promise<ProofReport> {
  await ensureUp(['postgres', 'valkey']);
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
    await using inference = await startInference({ db, clock, log: quiet });
    const cloud = { db, clock, database, orgIds, inference };
    await open(cloud);
    let firstRequests: readonly unknown[] = [];
    const figures: MonthFigures[] = [];
    const failures: string[] = [];
    let auditedAtMs = clock.nowMs();
    for (let month = 0; month < MONTHS; month += 1) {
      const end = addMonths(start, month + 1);
      await createPartitions(database, addMonths(start, month), end);
      const requests = await liveThroughMonth(cloud, month, end, size);
      if (month === 0) firstRequests = requests;
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
    const repeated = await repeatArchived(cloud, size, firstRequests);
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

/**
 * Ends just after the month, when its invoices are due. Leases open and close in the middle of a month, and the last requests of
 * the month are charged after its end. Returns the requests.
 */
async function liveThroughMonth(
  cloud: Cloud,
  month: number,
  end: Date,
  size: Size,
): Promise<readonly unknown[]> {
  const { db, clock, inference, orgIds } = cloud;
  const requests: unknown[] = [];
  const half = Math.floor(size.requests / 2);
  const stepMs = Math.floor((end.getTime() - MINUTE_MS - clock.nowMs()) / SWEEPS_A_MONTH);
  for (let step = 0; step < SWEEPS_A_MONTH; step += 1) {
    if (step === 1) await applyAll(cloud, chargesOfMonth(cloud, month, size));
    if (step === 2) requests.push(...(await inference.use(orgIds, half)));
    if (step === 3) await inference.closeLeases(orgIds);
    if (step === 4) requests.push(...(await inference.use(orgIds, size.requests - half - 1)));
    await clock.advance(stepMs);
    await sweepMeters(db, { shards, log: quiet });
  }
  const last = await inference.events(orgIds, 1);
  await clock.advance(2 * MINUTE_MS);
  await inference.send(last);
  await clock.advance(end.getTime() + 5 * 3_600_000 - clock.nowMs());
  await sweepMeters(db, { shards, log: quiet });
  while ((await makeDueInvoices(db, { log: quiet, limit: 100, issuer: 'Example' })) >= 100);
  return [...requests, ...last];
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
  const options = { log: quiet, afterMonths, statementTimeoutMs: 600_000, batch: 2_000 };
  for (const step of [createArchiver(db, options), createUsageArchiver(db, options)]) {
    while ((await step()) === 'busy');
  }
  await database.query(`vacuum ${ledgerTables.join(', ')}`);
}

const ledgerTables = ['ledger_transfers', 'ledger_entries'];
const usageTables = ['usage_charges', 'inference_requests'];
const leaseTables = [
  ...['pot_leases', 'pot_lease_gateways', 'ledger_holds', 'ledger_hold_parts', 'ledger_archived_totals'],
];

const rowsOf = (tables: readonly string[]): string =>
  tables.map((table) => `(select count(*) from ${table})`).join(' + ');

/** With all partitions. */
const bytesOf = (tables: readonly string[]): string =>
  tables
    .map(
      (
        table,
      ) => `coalesce((select sum(pg_total_relation_size(part.relid)) from pg_partition_tree('${table}') as part),
                           pg_total_relation_size('${table}'))`,
    )
    .join(' + ');

/** All in one query, because each query of a test database makes a connection. */
async function numbersOf({ database }: Cloud, texts: readonly string[]): Promise<readonly number[]> {
  const { rows } = await database.query<{ found: readonly string[] }>(
    `select array[${texts.map((text) => `(${text})::text`).join(', ')}] as found`,
  );
  return (rows[0]?.found ?? []).map(Number);
}

async function measure(cloud: Cloud, audit: AuditReport): Promise<MonthFigures> {
  const [hotRows = 0, hotBytes = 0, usageRows = 0, usageBytes = 0, leaseRows = 0] = await numbersOf(cloud, [
    rowsOf(ledgerTables),
    bytesOf(ledgerTables),
    rowsOf(usageTables),
    bytesOf(usageTables),
    rowsOf(leaseTables),
  ]);
  const auditedRows = audit.outcomes.reduce((sum, { lookedAt }) => sum + lookedAt, 0);
  return { hotRows, hotBytes, usageRows, usageBytes, leaseRows, auditedRows, auditMs: audit.durationMs };
}

async function repeatArchived(
  cloud: Cloud,
  size: Size,
  requests: readonly unknown[],
): Promise<readonly string[]> {
  const state = `select md5(string_agg(a::text, ',' order by id)) from ledger_accounts a`;
  const { rows: before } = await cloud.database.query(state);
  const commands = chargesOfMonth(cloud, 0, size);
  const replayed = await applyAll(cloud, commands);
  const { charged, uncharged } = await cloud.inference.send(requests);
  const { rows: after } = await cloud.database.query(state);
  const full = await requireReport(runAudit(cloud.db, { kind: 'full', whenBusy: 'unrecorded' }));
  const checks: readonly (readonly [boolean, string])[] = [
    [replayed === commands.length, `${commands.length - replayed} late duplicates were charged again`],
    [charged === 0n, `late duplicates of requests were charged ${charged} again`],
    [uncharged === requests.length, `${uncharged} of ${requests.length} late requests were recorded`],
    [JSON.stringify(before) === JSON.stringify(after), 'late duplicates changed an account'],
    [findingsOf(full, 'error').length === 0, 'the audit found drift after late duplicates'],
  ];
  return failuresOf(checks);
}

const failuresOf = (checks: readonly (readonly [boolean, string])[]): readonly string[] =>
  checks.flatMap(([isRight, failure]) => (isRight ? [] : [failure]));

const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

async function report(
  cloud: Cloud,
  figures: readonly MonthFigures[],
  failures: readonly string[],
): Promise<ProofReport> {
  const [year1, year3] = [figures[11], figures[35]];
  if (year1 === undefined || year3 === undefined) throw new Error('A month is missing.');
  const [differences = 0, archived = 0, deleted = 0] = await numbersOf(cloud, [
    'select count(*) from ledger_archive_differences()',
    'select count(*) from archived_ledger_transfers',
    'select sum(requests) from usage_months',
  ]);
  const checks: readonly (readonly [boolean, string])[] = [
    [archived > 0, 'nothing was archived'],
    [deleted > 0, 'no request was archived'],
    [differences === 0, `${differences} accounts differ from their archived entries`],
    // Rare transfers stay; there are none after the first month.
    [year3.hotRows <= year1.hotRows * 1.1, `hot rows grew from ${year1.hotRows} to ${year3.hotRows}`],
    [
      year3.usageRows <= year1.usageRows * 1.1,
      `usage grew from ${year1.usageRows} to ${year3.usageRows} rows`,
    ],
    [
      year3.leaseRows <= year1.leaseRows * 1.1,
      `leases and holds grew from ${year1.leaseRows} to ${year3.leaseRows} rows`,
    ],
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
      'archived requests': deleted,
      'rows of requests and usage, month 12': year1.usageRows,
      'rows of requests and usage, month 36': year3.usageRows,
      'bytes of requests and usage, month 12': year1.usageBytes,
      'bytes of requests and usage, month 36': year3.usageBytes,
      'rows of leases, holds and archived sums, month 12': year1.leaseRows,
      'rows of leases, holds and archived sums, month 36': year3.leaseRows,
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
    failures: [...failures, ...failuresOf(checks)],
  };
}
