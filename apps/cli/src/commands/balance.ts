import { defineCommand } from '../framework/command.ts';
import { printRecord } from '../framework/output.ts';
import { modeOf, noteTestMode } from '../money/mode.ts';
import { exactDuration, approximateDuration, perHourText, usdText } from '@millrace/sdk/text';
import type { Output } from '../sdk.ts';

type Balance = Output<'getBalance'>;

export const command = defineCommand({
  name: 'balance',
  summary: 'Show the balance, the burn rate and the runway',
  description:
    'All amounts are exact to the nano-USD. Held is reserved for running work; available can be used by new work. The burn rate is the hourly cost of everything that runs now, and the runway is how long it can continue.',
  examples: {
    'millrace balance': 'Before you start something large',
    'millrace balance --json': 'For a script that monitors the runway',
  },
  operations: ['getBalance'],
  json: 'record',
  failure: 'Could not read the balance',
  run: async (context) => {
    const balance = await context.client().balance.get();
    printRecord(context, balance, [{ name: 'mode', value: () => modeOf(context) }, ...columns]);
    if (context.output.format !== 'table') return;
    noteTestMode(context);
    if (balance.frozen) {
      context.note(
        'The account is frozen: new work cannot start. Contact the operator of this installation.',
      );
    } else if (isRunwayShort(balance)) {
      context.note(
        `Running resources stop in ${approximateDuration(balance.runwaySeconds ?? 0)}. Top up: millrace topup 25`,
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
      runwaySeconds === null ? 'unlimited: nothing is being spent' : exactDuration(runwaySeconds),
  },
] as const;

const nanoPerCent = 10_000_000n;
const SHORT_RUNWAY_SECONDS = 24 * 3600;

const isRunwayShort = ({ runwaySeconds }: Balance): boolean =>
  runwaySeconds !== null && runwaySeconds < SHORT_RUNWAY_SECONDS;
