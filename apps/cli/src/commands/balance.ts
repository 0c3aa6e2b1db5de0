import { defineCommand } from '../framework/command.ts';
import { printRecord } from '../framework/output.ts';
import { exactDuration, approximateDuration, perHourText, usdText } from '@millrace/sdk/text';
import type { Output } from '../sdk.ts';

type Balance = Output<'getBalance'>;

export const command = defineCommand({
  name: 'balance',
  summary: 'What there is to spend, how fast it goes and how long it lasts',
  description:
    'Everything to the nano-USD. Held is what running work has set aside; available is what new work can use. The burn ' +
    'rate is what everything that runs now costs in an hour, and the runway is how long that can go on.',
  examples: {
    'millrace balance': 'before starting something large',
    'millrace balance --json': 'for a script that watches the runway',
  },
  operations: ['getBalance'],
  json: 'record',
  failure: 'Could not read the balance',
  run: async (context) => {
    const balance = await context.client().balance.get();
    printRecord(context, balance, columns);
    if (context.output.format !== 'table') return;
    if (balance.frozen) {
      context.note(
        'The money is frozen: nothing new can be paid for. Ask the operator of this installation.',
      );
    } else if (isRunwayShort(balance)) {
      context.note(
        `Running things stop in ${approximateDuration(balance.runwaySeconds ?? 0)}. Add money: millrace topup 25`,
      );
    }
  },
});

const columns = [
  { name: 'balance', value: (balance: Balance) => usdText(balance.balanceNanoUsd) },
  { name: 'held', value: (balance: Balance) => usdText(balance.heldNanoUsd) },
  { name: 'available', value: (balance: Balance) => usdText(balance.availableNanoUsd) },
  {
    name: 'overdraft',
    value: ({ maxOverdraftCents }: Balance) =>
      maxOverdraftCents === 0 ? '' : `up to ${usdText(BigInt(maxOverdraftCents) * nanoPerCent)}`,
  },
  { name: 'burn rate', value: (balance: Balance) => perHourText(balance.burnRateUsdPerHour) },
  {
    name: 'runway',
    value: ({ runwaySeconds }: Balance) =>
      runwaySeconds === null ? 'no end: nothing is being spent' : exactDuration(runwaySeconds),
  },
] as const;

const nanoPerCent = 10_000_000n;
const SHORT_RUNWAY_SECONDS = 24 * 3600;

const isRunwayShort = ({ runwaySeconds }: Balance): boolean =>
  runwaySeconds !== null && runwaySeconds < SHORT_RUNWAY_SECONDS;
