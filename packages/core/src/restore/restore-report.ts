import type { LostEvents, LostInvoice } from '../events/index.ts';
import { noLaterUsage, type LaterUsage } from '../inference/index.ts';
import type { UncreditedPayment } from '../payments/index.ts';
import type { UnrecordedLease } from '../credit-leases/index.ts';
import type { RestoreState } from './restore.store.ts';

/** A machine with Millrace's labels on an engine, without a row. */
export interface LostMachine {
  readonly cluster: string;
  readonly clusterId: string;
  readonly nodeName: string;
  readonly externalId: string;
  readonly orgId: string;
}

/** Everything that is newer in other systems than in the restored database. */
export interface RestoreReport {
  /** The approximate restore point. */
  readonly restoredTo: string;
  /** When the newest mark copy was written. */
  readonly newestMark: string;
  readonly leases: readonly UnrecordedLease[];
  readonly machines: readonly LostMachine[];
  readonly payments: readonly UncreditedPayment[];
  /** Invoice numbers that were used after the restore point; null if none. `known`: those whose event is in the stream. */
  readonly invoices: {
    readonly first: number;
    readonly last: number;
    readonly known: readonly LostInvoice[];
  } | null;
  readonly events: LostEvents['organisations'];
  readonly eventTypes: LostEvents['types'];
  readonly usage: LaterUsage;
  /** Sources that did not respond. The report is complete only if this is empty. */
  readonly problems: readonly string[];
}

/** The sources of the report. Each can fail independently. */
export interface ReportSources {
  readonly leases: () => Promise<readonly UnrecordedLease[]>;
  readonly machines: () => Promise<{
    readonly machines: readonly LostMachine[];
    readonly problems: readonly string[];
  }>;
  readonly payments: (since: Date) => Promise<readonly UncreditedPayment[]>;
  readonly events: () => Promise<LostEvents>;
  readonly usage: (since: Date) => Promise<LaterUsage>;
}

export async function buildRestoreReport(
  state: RestoreState,
  counters: { readonly invoices: number },
  sources: ReportSources,
): Promise<RestoreReport> {
  const problems: string[] = [];
  const tryRead = async <T>(what: string, work: () => Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      problems.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
      return otherwise;
    }
  };
  const leases = await tryRead('Leases in Valkey', sources.leases, []);
  const found = await tryRead('Machines on engines', sources.machines, { machines: [], problems: [] });
  // A checkout page can be created before the restore point and paid after it: Stripe keeps it open for a day.
  const since = new Date(state.markedAt.getTime() - 24 * 3_600_000);
  const payments = await tryRead('Payments at Stripe', () => sources.payments(since), []);
  const events = await tryRead('Events in NATS', sources.events, {
    organisations: [],
    types: {},
    invoices: [],
  });
  const usage = await tryRead('Usage in NATS', () => sources.usage(state.markedAt), noLaterUsage);
  const last = state.outside?.counters.invoices ?? 0;
  return {
    restoredTo: state.markedAt.toISOString(),
    newestMark: state.outside?.at ?? state.markedAt.toISOString(),
    leases,
    machines: found.machines,
    payments,
    invoices:
      last > counters.invoices ? { first: counters.invoices + 1, last, known: events.invoices } : null,
    events: events.organisations,
    eventTypes: events.types,
    usage,
    problems: [...problems, ...found.problems],
  };
}

const ITEMS_SHOWN_MAX = 20;

function formatList<T>(title: string, items: readonly T[], line: (item: T) => string): string[] {
  const lines = items.slice(0, ITEMS_SHOWN_MAX).map((item) => `    ${line(item)}`);
  const more = items.length - lines.length;
  if (more > 0) lines.push(`    and ${more} more (--json lists all)`);
  return [`  ${title}: ${items.length}`, ...lines];
}

/** The report as text for operators. */
export function formatRestoreReport(report: RestoreReport): string {
  const { invoices } = report;
  return [
    `The database was restored to about ${report.restoredTo}. The newest known state was ${report.newestMark}.`,
    'Newer in other systems than in the database:',
    ...formatList('Credit leases in Valkey', report.leases, (lease) => {
      const { ledgerGrantedNanoUsd: granted } = lease;
      const known = granted === null ? 'missing in the ledger' : `the ledger has ${granted}`;
      return `${lease.orgId} ${lease.mode} epoch ${lease.epoch}: ${lease.grantedNanoUsd} nano-USD granted, ${known}`;
    }),
    ...formatList(
      'Machines without rows',
      report.machines,
      (machine) => `${machine.cluster} ${machine.nodeName} ${machine.externalId} of ${machine.orgId}`,
    ),
    ...formatList(
      'Payments at Stripe that are missing in the ledger',
      report.payments,
      (payment) =>
        `${payment.sessionRef} (${payment.paymentId ?? 'no id'}): ${payment.amountCents} cents ${payment.currency}`,
    ),
    `  Invoice numbers handed out: ${invoices === null ? 'none' : `${invoices.first} to ${invoices.last}`}`,
    ...(invoices === null ? [] : formatList('Invoices', invoices.known, formatInvoice)),
    ...formatList(
      'Events by type',
      Object.entries(report.eventTypes),
      ([type, count]) => `${type}: ${count}`,
    ),
    ...formatList(
      'Organisations with events',
      report.events,
      (events) => `${events.orgId}: ${events.firstSeq} to ${events.lastSeq}`,
    ),
    ...formatUsage(report.usage),
    ...(report.problems.length === 0
      ? []
      : ['This report is incomplete:', ...report.problems.map((one) => `  ${one}`)]),
    '',
  ].join('\n');
}

function formatInvoice({ number, orgId, totalNanoUsd }: LostInvoice): string {
  return `${number} of ${orgId}: ${totalNanoUsd} nano-USD`;
}

/** Texts for the outcomes since the restore. */
const outcomeTexts: Readonly<Record<string, string>> = {
  charged: 'charged again',
  waiting: 'not charged yet',
  unknown_lease: 'not charged, because its lease is missing',
  late: 'not charged, because its lease is closed',
  overpriced: 'not charged, because it is above the maximum cost of its model',
};

function formatUsage({ requests, nanoUsd, outcomes, first, streamFrom }: LaterUsage): string[] {
  const listed = first.slice(0, ITEMS_SHOWN_MAX);
  const range = streamFrom === null ? 'none in the stream' : `the stream begins at ${streamFrom}`;
  return [
    `  Inference requests: ${requests}, ${nanoUsd} nano-USD (${range})`,
    ...Object.entries(outcomes).map(
      ([outcome, sum]) => `    ${sum.requests} ${outcomeTexts[outcome] ?? outcome}: ${sum.nanoUsd} nano-USD`,
    ),
    ...listed.map(
      (one) => `    ${one.requestId} of ${one.orgId} at ${one.usedAt}: ${one.model}, ${one.nanoUsd} nano-USD`,
    ),
    ...(requests > listed.length
      ? [`    and ${requests - listed.length} more (--json lists the first ${first.length})`]
      : []),
  ];
}

/** The effects of a confirmation as text for operators, shown before it. */
export function formatConfirmEffects(report: RestoreReport): string {
  const { invoices } = report;
  return [
    'If you confirm:',
    '  - Every open credit lease ends. New leases get unused epochs. Holds stay until their usage is charged.',
    `  - ${report.events.reduce((sum, { count }) => sum + count, 0)} events are stored again under their numbers.`,
    invoices === null
      ? '  - Invoice numbers continue: none was used since.'
      : `  - Invoice numbers ${invoices.first} to ${invoices.last} are recorded as used and are not assigned again.`,
    '  - Ids of rentals and volumes continue above those that were used.',
    report.machines.length === 0
      ? '  - No machines without rows were found.'
      : `  - ${report.machines.length} machines without rows stay. Their nodes are quarantined. Remove the machines with millrace-admin strays allow.`,
    report.payments.length === 0
      ? '  - No payments are missing.'
      : `  - ${report.payments.length} payments must be credited by hand (see docs/runbooks/restore.md).`,
    '  - Then credit leases, new machines, removals, charges and invoices continue.',
    '',
  ].join('\n');
}
