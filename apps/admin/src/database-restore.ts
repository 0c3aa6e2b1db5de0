import { appendAuditEntry, systemAuditContext } from '@millrace/core/identity';
import {
  beginConfirming,
  declareRestored,
  formatConfirmEffects,
  formatRestoreReport,
  readRestoreState,
  type RestoreState,
} from '@millrace/core/restore';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { CommandError, requiredText, UsageError, type Command, type FlagValues } from './command.ts';

/** Commands after a restore of PostgreSQL to an earlier point: declare it, list newer data elsewhere, confirm to continue. */

export const restoreStatusCommand: Command = {
  name: 'restore status',
  summary: 'show whether the database was restored, and which newer data exists elsewhere',
  flags: { json: { describe: 'print one JSON object' } },
  example: 'millrace-admin restore status',
  run: async (context, flags) => {
    const state = await readRestoreState(await context.db());
    context.out(flags['json'] === true ? `${JSON.stringify(state)}\n` : statusOf(state));
  },
};

function statusOf(state: RestoreState): string {
  if (state.status === 'normal') {
    return `The database is the newest known state: generation ${state.generation}, mark ${state.mark} of ${state.markedAt.toISOString()}.\n`;
  }
  if (state.report === null) {
    return (
      `The database was restored to about ${state.markedAt.toISOString()}. Found at ${state.foundAt?.toISOString() ?? 'an unknown time'}.\n` +
      'A worker is collecting newer data from elsewhere. Check again in a minute; a worker must be running.\n'
    );
  }
  if (state.status === 'confirming')
    return 'The restore is confirmed. A worker is completing it; a worker must be running.\n';
  return (
    `${formatRestoreReport(state.report)}\n${formatConfirmEffects(state.report)}` +
    'Confirm with: millrace-admin restore confirm --reason TEXT\n'
  );
}

export const restoreDeclareCommand: Command = {
  name: 'restore declare',
  summary: 'declare that the database was restored, if NATS and Valkey cannot show it',
  flags: {
    reason: { describe: 'why, for the audit log', value: 'TEXT', required: true },
    'restored-to': {
      describe: 'the time that it was restored to, if a worker has run since',
      value: 'TIME',
    },
    'last-invoice': { describe: 'the highest invoice number that was sent, if known', value: 'NUMBER' },
  },
  example: 'millrace-admin restore declare --reason "site lost, restored to 03:12" --last-invoice 4711',
  run: async (context, flags) => {
    const lastInvoice = wholeNumber(flags, 'last-invoice');
    const restoredTo = timeOf(flags, 'restored-to');
    const db = await context.db();
    const { installation, generation } = await readRestoreState(db);
    const isNew = await db.transaction(
      { name: 'declare restore', isolation: 'read committed' },
      async (tx) => {
        if (!(await declareRestored(tx, { restoredTo, lastInvoice }))) return false;
        await appendAuditEntry(tx, null, systemAuditContext('millrace-admin', 'live'), {
          action: 'restore.declared',
          resource: { kind: 'installation', id: installation },
          before: { generation },
          after: { restoredTo: restoredTo?.toISOString() ?? null, lastInvoice },
          reason: requiredText(flags, 'reason'),
        });
        return true;
      },
    );
    const { markedAt } = await readRestoreState(db);
    context.out(
      (isNew
        ? `The database counts as restored to about ${markedAt.toISOString()}. No credit is granted and nothing is created or removed until you confirm the restore.\n`
        : 'A restore is already declared: nothing was changed.\n') +
        'Start a worker, wait a minute, then run: millrace-admin restore status\n',
    );
  },
};

function timeOf(flags: FlagValues, name: string): Date | null {
  if (flags[name] === undefined) return null;
  const at = new Date(requiredText(flags, name));
  if (Number.isNaN(at.getTime()))
    throw new UsageError(`--${name} must be a time such as 2026-11-16T03:12:00Z.`);
  return at;
}

function wholeNumber(flags: FlagValues, name: string): number | null {
  if (flags[name] === undefined) return null;
  const value = requiredText(flags, name);
  if (!/^\d{1,12}$/.test(value)) throw new UsageError(`--${name} must be a whole number.`);
  return Number(value);
}

const WAIT_MS = 60_000;
const POLL_MS = 500;

export const restoreConfirmCommand: Command = {
  name: 'restore confirm',
  summary: 'continue with a database that was restored to an earlier point',
  flags: {
    reason: { describe: 'why, for the audit log', value: 'TEXT', required: true },
    incomplete: { describe: 'confirm even if the report is incomplete' },
  },
  example: 'millrace-admin restore confirm --reason "disk failure, restored to 03:12"',
  run: async (context, flags) => {
    const db = await context.db();
    const state = await readRestoreState(db);
    if (state.status === 'normal') {
      context.out('The database is the newest known state: there is nothing to confirm.\n');
      return;
    }
    if (state.report === null) {
      throw new CommandError(
        'No worker has reported newer data yet, so nothing is confirmed. Start a worker, then run: millrace-admin restore status',
      );
    }
    const { report } = state;
    if (report.problems.length > 0 && flags['incomplete'] !== true && state.status === 'restored') {
      throw new CommandError(
        `The report is incomplete, so nothing is confirmed:\n${report.problems.map((one) => `  ${one}`).join('\n')}\n` +
          'Fix these and wait for the next report, or add --incomplete.',
      );
    }
    context.out(formatConfirmEffects(report));
    await db.transaction({ name: 'confirm restore', isolation: 'read committed' }, async (tx) => {
      // False: it was already confirmed, so only wait.
      if (!(await beginConfirming(tx))) return;
      await appendAuditEntry(tx, null, systemAuditContext('millrace-admin', 'live'), {
        action: 'restore.confirmed',
        resource: { kind: 'installation', id: state.installation },
        before: { generation: state.generation, restoredTo: report.restoredTo },
        after: {
          leases: report.leases.length,
          machines: report.machines.length,
          payments: report.payments.length,
          invoices: report.invoices,
        },
        reason: requiredText(flags, 'reason'),
      });
    });
    context.out(await waitForWorker(db));
  },
};

async function waitForWorker(db: Db): Promise<string> {
  const untilMs = systemClock.monotonicMs() + WAIT_MS;
  while (systemClock.monotonicMs() < untilMs) {
    const { status, generation } = await readRestoreState(db);
    if (status === 'normal')
      return `Done. The database is now generation ${generation}, and all work continues.\n`;
    await systemClock.sleep(POLL_MS);
  }
  return 'Confirmed, but no worker has completed it yet. Check that a worker is running: millrace-admin restore status\n';
}
