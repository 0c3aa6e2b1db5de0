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

/** After PostgreSQL was restored to an earlier point: declare it, list what is newer outside, and confirm that work continues. */

export const restoreStatusCommand: Command = {
  name: 'restore status',
  summary: 'say whether the database was restored, and what is newer elsewhere',
  flags: { json: { describe: 'print one JSON object for programs' } },
  example: 'millrace-admin restore status',
  run: async (context, flags) => {
    const state = await readRestoreState(await context.db());
    context.out(flags['json'] === true ? `${JSON.stringify(state)}\n` : statusOf(state));
  },
};

function statusOf(state: RestoreState): string {
  if (state.status === 'normal') {
    return `The database is the newest state that is known: generation ${state.generation}, mark ${state.mark} of ${state.markedAt.toISOString()}.\n`;
  }
  if (state.report === null) {
    return (
      `The database was restored to about ${state.markedAt.toISOString()}. Found at ${state.foundAt?.toISOString() ?? 'an unknown time'}.\n` +
      'A worker is looking for what is newer elsewhere. Ask again in a minute. Is a worker running?\n'
    );
  }
  if (state.status === 'confirming')
    return 'A restore was confirmed. A worker is carrying it out. Is one running?\n';
  return (
    `${formatRestoreReport(state.report)}\n${formatConfirmEffects(state.report)}` +
    'Confirm with: millrace-admin restore confirm --reason TEXT\n'
  );
}

export const restoreDeclareCommand: Command = {
  name: 'restore declare',
  summary: 'say that the database was restored, where NATS and Valkey cannot show it',
  flags: {
    reason: { describe: 'why, for the audit log', value: 'TEXT', required: true },
    'restored-to': {
      describe: 'the point that it was restored to, if a worker has run since',
      value: 'TIME',
    },
    'last-invoice': { describe: 'the highest invoice number that was sent, if you know it', value: 'NUMBER' },
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
        ? `The database counts as restored to about ${markedAt.toISOString()}. Nothing is lent, created or removed until it is confirmed.\n`
        : 'A restore is known already: nothing was changed.\n') +
        'Start a worker, wait a minute, then: millrace-admin restore status\n',
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
  summary: 'go on with a database that was restored to an earlier point',
  flags: {
    reason: { describe: 'why, for the audit log', value: 'TEXT', required: true },
    incomplete: { describe: 'also if a part of the report could not be made' },
  },
  example: 'millrace-admin restore confirm --reason "disk failure, restored to 03:12"',
  run: async (context, flags) => {
    const db = await context.db();
    const state = await readRestoreState(db);
    if (state.status === 'normal') {
      context.out('The database is the newest state that is known: there is nothing to confirm.\n');
      return;
    }
    if (state.report === null) {
      throw new CommandError(
        'No worker has reported yet what is newer elsewhere, so nothing is confirmed. Start a worker, then look: millrace-admin restore status',
      );
    }
    const { report } = state;
    if (report.problems.length > 0 && flags['incomplete'] !== true && state.status === 'restored') {
      throw new CommandError(
        `The report is not complete, so nothing is confirmed:\n${report.problems.map((one) => `  ${one}`).join('\n')}\n` +
          'Repair these and wait for the next report, or say --incomplete.',
      );
    }
    context.out(formatConfirmEffects(report));
    await db.transaction({ name: 'confirm restore', isolation: 'read committed' }, async (tx) => {
      // False: it was confirmed before, and is only waited for.
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
      return `Done. The database is generation ${generation} now, and everything continues.\n`;
    await systemClock.sleep(POLL_MS);
  }
  return 'Confirmed. No worker has carried it out yet: is one running? Look with millrace-admin restore status\n';
}
