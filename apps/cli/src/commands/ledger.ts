import { defineCommand } from '../framework/command.ts';
import { UsageError } from '../framework/errors.ts';
import { limitFlag, pageSize, printLimitedList } from '../money/limit.ts';
import { signedUsd, usdText } from '@millrace/sdk/text';
import { parseTimestamp, timestampText } from '../text/timestamps.ts';
import type { Item } from '../sdk.ts';

type Entry = Item<'listLedgerEntries'>;

const kinds = [
  'top_up',
  'grant',
  'adjustment',
  'refund',
  'reversal',
  'charge',
  'credit',
  'payout',
  'clawback',
  'expiry',
] as const;

export const command = defineCommand({
  name: 'ledger',
  summary: 'List all changes of the balance with their causes, newest first',
  flags: {
    from: { type: 'text', value: 'TIME', describe: 'from this day or time' },
    until: { type: 'text', value: 'TIME', describe: 'before this day or time' },
    kind: { type: 'text', value: 'KIND', choices: kinds, describe: 'only changes of this kind' },
    cause: {
      type: 'text',
      value: 'KIND[:ID]',
      describe: 'only changes with this cause, such as rental:1042',
    },
    ...limitFlag,
  },
  examples: {
    'millrace ledger --limit 20': 'The newest changes',
    'millrace ledger --cause rental:1042': 'Everything that a rental has cost',
    'millrace ledger --kind top_up --from 2026-08-01 --json': 'Payments since August, for a script',
  },
  operations: ['listLedgerEntries'],
  json: 'list',
  failure: 'Could not read the ledger',
  run: async (context, { flags }) => {
    const { from, until, kind, limit } = flags;
    const entries = context.client().ledger.list({
      ...(from === undefined ? {} : { from: parseTimestamp('--from', from) }),
      ...(until === undefined ? {} : { until: parseTimestamp('--until', until) }),
      kind,
      ...causeOf(flags.cause),
      limit: pageSize(limit),
    });
    await printLimitedList(context, entries, columns, {
      limit,
      noun: 'changes',
      empty: 'The balance did not change in this period. Top up: millrace topup 25',
    });
  },
});

const columns = [
  { name: 'time', value: (entry: Entry) => timestampText(entry.occurredAt) },
  { name: 'kind', value: (entry: Entry) => entry.kind },
  { name: 'amount', align: 'right', value: (entry: Entry) => signedUsd(entry.amountNanoUsd) },
  { name: 'balance', align: 'right', value: (entry: Entry) => usdText(entry.balanceAfterNanoUsd) },
  { name: 'cause', value: ({ cause }: Entry) => `${cause.kind}:${cause.id}` },
  { name: 'description', value: (entry: Entry) => entry.description },
  { name: 'id', extra: true, value: (entry: Entry) => entry.id },
  { name: 'reverses', extra: true, value: (entry: Entry) => entry.reverses },
] as const;

function causeOf(cause: string | undefined): { readonly causeKind?: string; readonly causeId?: string } {
  if (cause === undefined) return {};
  const [causeKind = '', ...rest] = cause.split(':');
  const causeId = rest.join(':');
  if (causeKind === '' || (rest.length > 0 && causeId === '')) {
    throw new UsageError(
      `--cause is ${JSON.stringify(cause)}; use a kind such as rental, or a kind with an id such as rental:1042.`,
    );
  }
  return { causeKind, ...(causeId === '' ? {} : { causeId }) };
}
