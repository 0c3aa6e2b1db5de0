import type { LostEvents } from '../events/index.ts';
import type { UncreditedPayment } from '../payments/index.ts';
import type { UnrecordedLease } from '../credit-leases/index.ts';
import type { RestoreState } from './restore.store.ts';

/** A machine on an engine that has no row, though it carries our labels. */
export interface LostMachine {
  readonly cluster: string;
  readonly clusterId: string;
  readonly nodeName: string;
  readonly externalId: string;
  readonly orgId: string;
}

/** What is newer outside than in the restored database. */
export interface RestoreReport {
  /** About the point that the database was restored to. */
  readonly restoredTo: string;
  /** When the newest copy of the mark was written. */
  readonly newestMark: string;
  readonly leases: readonly UnrecordedLease[];
  readonly machines: readonly LostMachine[];
  readonly payments: readonly UncreditedPayment[];
  /** Numbers of invoices that were sent after the point; null: none. */
  readonly invoices: { readonly first: number; readonly last: number } | null;
  readonly events: readonly LostEvents[];
  /** Usage that the sink has not passed: it is charged to leases that are known, and recorded for the others. */
  readonly usageMessages: number;
  /** Sources that did not answer. The report is complete only if there is none. */
  readonly problems: readonly string[];
}

/** Where the report comes from. Each may fail by itself. */
export interface ReportSources {
  readonly leases: () => Promise<readonly UnrecordedLease[]>;
  readonly machines: () => Promise<{
    readonly machines: readonly LostMachine[];
    readonly problems: readonly string[];
  }>;
  readonly payments: (since: Date) => Promise<readonly UncreditedPayment[]>;
  readonly events: () => Promise<readonly LostEvents[]>;
  readonly usageMessages: () => Promise<number>;
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
  // A page may have been made before the point and paid after it: Stripe keeps one open for a day.
  const since = new Date(state.markedAt.getTime() - 24 * 3_600_000);
  const payments = await tryRead('Payments at Stripe', () => sources.payments(since), []);
  const events = await tryRead('Events in NATS', sources.events, []);
  const usageMessages = await tryRead('Usage in NATS', sources.usageMessages, 0);
  const last = state.outside?.counters.invoices ?? 0;
  return {
    restoredTo: state.markedAt.toISOString(),
    newestMark: state.outside?.at ?? state.markedAt.toISOString(),
    leases,
    machines: found.machines,
    payments,
    invoices: last > counters.invoices ? { first: counters.invoices + 1, last } : null,
    events,
    usageMessages,
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

/** The report for people. */
export function formatRestoreReport(report: RestoreReport): string {
  const { invoices } = report;
  return [
    `The database was restored to about ${report.restoredTo}. The newest state that is known outside is of ${report.newestMark}.`,
    'Newer than the database:',
    ...formatList('Credit leases in Valkey', report.leases, (lease) => {
      const { ledgerGrantedNanoUsd: granted } = lease;
      const known = granted === null ? 'unknown to the ledger' : `the ledger has ${granted}`;
      return `${lease.orgId} ${lease.mode} epoch ${lease.epoch}: ${lease.grantedNanoUsd} nano-USD granted, ${known}`;
    }),
    ...formatList(
      'Machines without rows',
      report.machines,
      (machine) => `${machine.cluster} ${machine.nodeName} ${machine.externalId} of ${machine.orgId}`,
    ),
    ...formatList(
      'Payments that Stripe has and the ledger has not',
      report.payments,
      (payment) =>
        `${payment.sessionRef} (${payment.paymentId ?? 'no id'}): ${payment.amountCents} cents ${payment.currency}`,
    ),
    `  Invoice numbers handed out: ${invoices === null ? 'none' : `${invoices.first} to ${invoices.last}`}`,
    ...formatList(
      'Organisations with events',
      report.events,
      (events) => `${events.orgId}: ${events.firstSeq} to ${events.lastSeq}`,
    ),
    `  Usage messages not yet charged: ${report.usageMessages}`,
    ...(report.problems.length === 0
      ? []
      : ['This report is not complete:', ...report.problems.map((one) => `  ${one}`)]),
    '',
  ].join('\n');
}

/** What a confirmation does, for people, before it is done. */
export function formatConfirmEffects(report: RestoreReport): string {
  const { invoices } = report;
  return [
    'Confirming does this:',
    '  - Every open credit lease ends. New leases get epochs above all that were used. Holds stay until their usage is charged.',
    `  - ${report.events.reduce((sum, { count }) => sum + count, 0)} events are stored again under the numbers that readers have seen.`,
    invoices === null
      ? '  - Invoice numbers continue: none was handed out since.'
      : `  - Invoice numbers ${invoices.first} to ${invoices.last} are recorded as handed out and are not given again.`,
    '  - Ids of rentals and volumes continue above those that were handed out.',
    report.machines.length === 0
      ? '  - No machine is without a row.'
      : `  - ${report.machines.length} machines without rows stay. Their nodes are quarantined. Remove the machines with millrace-admin strays allow.`,
    report.payments.length === 0
      ? '  - No payment is missing.'
      : `  - ${report.payments.length} payments are not credited by this command. Credit them by hand (see docs/runbooks/restore.md).`,
    '  - Then lending, new machines, removals, charges and invoices continue.',
    '',
  ].join('\n');
}
