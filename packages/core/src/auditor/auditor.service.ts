import type { Db, Tx } from '@millrace/platform/db';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import {
  findBrokenLinks,
  accountProbe,
  openingBalanceProbe,
  type AccountSelection,
} from './probes/accounts.store.ts';
import { mergeOutcomes, type AuditKind, type AuditReport, type CheckOutcome } from './checks/audit-report.ts';
import { budgetProbe } from './probes/budgets.store.ts';
import { auditChecks } from './checks/checks.ts';
import { holdProbe } from './probes/holds.store.ts';
import { invoiceNumberProbe, invoiceProbe } from './probes/invoices.store.ts';
import { meterProbe, meteredResourceProbe } from './probes/meters.store.ts';
import { clawbackProbe, debtProbe, paymentProbe } from './probes/payments.store.ts';
import { leaseProbe, requestProbe, usageProbe } from './probes/credit-leases.store.ts';
import { runProbe, type Probe } from './probes/run-probe.store.ts';
import { allocationProbe, capacityProbe, orphanHoldProbe, releasedProbe } from './probes/resources.store.ts';
import { requestPriceProbe, unreadableUsageProbe } from './probes/requests.store.ts';
import { payoutProbe, splitProbe, statementProbe } from './probes/suppliers.store.ts';
import { beginReadOnly, endReadOnly, readCheckpoint, recordRun, tryAuditLock } from './runs.store.ts';
import { findChunkEnd, transferProbes, undoProbe, type IdRange } from './probes/transfers.store.ts';
import { volumeHoldProbe, volumeProbe } from './probes/volumes.store.ts';
import { findOrphanTransfers, walletProbe } from './probes/wallets.store.ts';

export interface AuditOptions {
  readonly kind: AuditKind;
  /** Required by `organisation`, and only by it. */
  readonly orgId?: OrgId;
  /** If another audit is running: do nothing, or audit without recording the outcome. */
  readonly whenBusy?: 'skip' | 'unrecorded';
  readonly findingsPerCheck?: number;
  readonly statementTimeoutMs?: number;
  /**
   * How much older than its commit an id can be: the longest posting transaction plus clock differences. An incremental audit
   * begins this much before the last clean one.
   */
  readonly marginMs?: number;
  /** Transfers per statement. */
  readonly chunkTransfers?: number;
  readonly signal?: AbortSignal;
}

export const auditDefaults = {
  findingsPerCheck: 20,
  statementTimeoutMs: 600_000,
  marginMs: 120_000,
  chunkTransfers: 100_000,
} as const;

const DAY_MS = 86_400_000;

/** The scope of one audit, from its options and the last checkpoint. */
interface AuditPlan {
  readonly kind: AuditKind;
  readonly snapshotAt: Date;
  readonly since: Date | null;
  readonly range: IdRange;
  /** Charges after this id are compared with their requests. */
  readonly usageAfter: string;
  readonly archivedThrough: Date | null;
  readonly requestsThrough: Date | null;
  readonly orgUuid: string | null;
  readonly cap: number;
  readonly marginMs: number;
  readonly chunkTransfers: number;
  readonly signal: AbortSignal | undefined;
}

/** Runs one audit in one snapshot, which excludes concurrent commits. Null if another audit runs and `whenBusy` is `skip`. */
export async function runAudit(db: Db, options: AuditOptions): Promise<AuditReport | null> {
  return db.transaction({ name: 'audit', isolation: 'repeatable read' }, async (tx) => {
    const recorded = options.kind !== 'organisation' && (await tryAuditLock(tx));
    if (!recorded && options.kind !== 'organisation' && options.whenBusy !== 'unrecorded') return null;
    const report = { ...(await computeReport(tx, options)), recorded };
    if (recorded) await recordRun(tx, report);
    return report;
  });
}

/** Audits in the snapshot of this transaction and writes nothing. */
export async function computeReport(tx: Tx, options: AuditOptions): Promise<AuditReport> {
  const startedMs = tx.clock.monotonicMs();
  await beginReadOnly(tx, options.statementTimeoutMs ?? auditDefaults.statementTimeoutMs);
  const plan = await planAudit(tx, options);
  const outcomes = mergeOutcomes(await runChecks(tx, plan), plan.cap);
  await endReadOnly(tx);
  const durationMs = Math.round(tx.clock.monotonicMs() - startedMs);
  const { kind, since, snapshotAt, archivedThrough, requestsThrough } = plan;
  const orgId = options.orgId ?? null;
  const scope = { kind, orgId, snapshotAt, since, archivedThrough, requestsThrough };
  return { ...scope, durationMs, outcomes, recorded: false };
}

async function planAudit(tx: Tx, options: AuditOptions): Promise<AuditPlan> {
  const { snapshotAt, markedAt, archiveCutoff, usageCutoff, ...through } = await readCheckpoint(tx);
  if ((options.kind === 'organisation') !== (options.orgId !== undefined)) {
    throw new TypeError('orgId is required for an audit of kind organisation, and for no other kind.');
  }
  const since = options.kind === 'incremental' ? markedAt : null;
  const marginMs = options.marginMs ?? auditDefaults.marginMs;
  const after = laterId(minUuidAt(since === null ? 0 : since.getTime() - marginMs), archiveCutoff);
  return {
    // Without a clean audit to continue, everything must be checked.
    kind: options.kind === 'incremental' && since === null ? 'full' : options.kind,
    snapshotAt,
    since,
    range: { after, until: null },
    usageAfter: laterId(after, usageCutoff),
    ...through,
    orgUuid: options.orgId === undefined ? null : toUuid(options.orgId),
    cap: options.findingsPerCheck ?? auditDefaults.findingsPerCheck,
    marginMs,
    chunkTransfers: options.chunkTransfers ?? auditDefaults.chunkTransfers,
    signal: options.signal,
  };
}

const laterId = (one: string, other: string): string => (one > other ? one : other);

/** Smaller than every UUIDv7 created in this millisecond or later. */
function minUuidAt(ms: number): string {
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

async function runChecks(tx: Tx, plan: AuditPlan): Promise<readonly CheckOutcome[]> {
  const { orgUuid, range, usageAfter, cap, since } = plan;
  const basis: AccountSelection = { range, fromMarks: since !== null, orgUuid };
  const outcomes: CheckOutcome[] = [];
  for await (const chunk of chunksOf(tx, plan)) {
    const used = { ...chunk, after: laterId(chunk.after, usageAfter) };
    for (const probe of [...transferProbes(chunk, orgUuid), usageProbe(used, orgUuid)]) {
      outcomes.push(...(await runProbe(tx, probe, cap)));
    }
  }
  for (const probe of [walletProbe(basis), accountProbe(basis), ...otherProbes(plan, tx.clock.now())]) {
    plan.signal?.throwIfAborted();
    outcomes.push(...(await runProbe(tx, probe, cap)));
  }
  return locateFindings(tx, basis, outcomes, cap);
}

const fullProbes = [budgetProbe, clawbackProbe, debtProbe, requestProbe, invoiceProbe];

/** Probes that need no chunks: they are bounded by current rows, or left to full audits. */
function otherProbes({ orgUuid, range, since, marginMs }: AuditPlan, now: Date): readonly Probe[] {
  const everything = since === null;
  // Top-ups and payouts are not archived, and payments of all times are checked against them.
  const rareRange = everything ? { after: minUuidAt(0), until: null } : range;
  return [
    requestPriceProbe({ recordedSince: everything ? null : recordedSince(since, marginMs), orgUuid }),
    ...(orgUuid === null ? [unreadableUsageProbe(since)] : []),
    undoProbe(range, orgUuid),
    holdProbe({ range, youngAfter: everything ? null : minUuidAt(since.getTime()), orgUuid }),
    meterProbe({ range, onlyTouched: !everything, orgUuid, now }),
    splitProbe({ range, onlyTouched: !everything, orgUuid }),
    meteredResourceProbe(orgUuid),
    volumeProbe(orgUuid),
    volumeHoldProbe(orgUuid),
    orphanHoldProbe(orgUuid),
    allocationProbe(orgUuid),
    releasedProbe(orgUuid),
    ...(orgUuid === null ? [capacityProbe(), openingBalanceProbe()] : []),
    paymentProbe({ range: rareRange, paidSince: since, orgUuid }),
    payoutProbe({ range: rareRange, settledSince: since, orgUuid }),
    leaseProbe({ everything, orgUuid }),
    // These read all transfers of organisations with budgets, all clawbacks, all requests and all charges.
    ...(everything ? fullProbes.map((probe) => probe(orgUuid)) : []),
    // Earnings of a supplier are in the transfers of other organisations, so only a full audit of all can sum them.
    ...(everything && orgUuid === null ? [statementProbe(), invoiceNumberProbe()] : []),
  ];
}

/** Requests run for a day at most, so the ids of their rows are at most that much older. */
function recordedSince(since: Date, marginMs: number): { readonly at: Date; readonly firstId: string } {
  const fromMs = since.getTime() - marginMs;
  return { at: new Date(fromMs), firstId: minUuidAt(fromMs - 2 * DAY_MS) };
}

/** Bounded chunks, so that memory stays small and an abort takes effect soon. */
async function* chunksOf(tx: Tx, plan: AuditPlan): AsyncGenerator<IdRange> {
  let { after } = plan.range;
  for (;;) {
    plan.signal?.throwIfAborted();
    const until = plan.orgUuid === null ? await findChunkEnd(tx, after, plan.chunkTransfers) : null;
    yield { after, until };
    if (until === null) return;
    after = until;
  }
}

/** The cheap passes find the broken account or organisation; this finds the broken row. */
async function locateFindings(
  tx: Tx,
  basis: AccountSelection,
  outcomes: readonly CheckOutcome[],
  cap: number,
): Promise<readonly CheckOutcome[]> {
  const named: CheckOutcome[] = [];
  for (const outcome of outcomes) {
    const { check, findings } = outcome;
    if (check === 'account_chain' && findings.length > 0)
      named.push(await addBrokenLinks(tx, basis, outcome));
    else if (check === 'transfer_balance_after') named.push(await addOrphans(tx, basis, outcome, cap));
    else named.push(outcome);
  }
  return named;
}

async function addBrokenLinks(tx: Tx, basis: AccountSelection, outcome: CheckOutcome): Promise<CheckOutcome> {
  const accountIds = outcome.findings.map(({ subject }) => subject.id);
  const links = await findBrokenLinks(tx, basis, accountIds);
  const findings = outcome.findings.map((finding) => {
    const { id } = finding.subject;
    const actual = links.get(id) ?? finding.actual;
    return { ...finding, actual, sentence: auditChecks.account_chain.text({ ...finding, id, actual }) };
  });
  return { ...outcome, findings };
}

async function addOrphans(tx: Tx, basis: AccountSelection, outcome: CheckOutcome, cap: number) {
  const { text } = auditChecks.transfer_balance_after;
  const findings = [];
  for (const finding of outcome.findings) {
    const orphans = await findOrphanTransfers(tx, basis, finding.subject.id, cap);
    if (orphans.length === 0) findings.push(finding);
    for (const orphan of orphans) {
      findings.push({ ...finding, ...orphan, sentence: text({ id: orphan.subject.id, ...orphan }) });
    }
  }
  const more = findings.length - outcome.findings.length;
  return { ...outcome, found: outcome.found + more, findings: findings.slice(0, cap) };
}
