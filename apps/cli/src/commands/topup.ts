import type { Context } from '../framework/context.ts';
import { defineCommand } from '../framework/command.ts';
import { CancelledError, CliError, UsageError } from '../framework/errors.ts';
import { printRecord } from '../framework/output.ts';
import { safeText } from '../framework/text.ts';
import { isInProgress, topUpColumns, type TopUp } from '../money/topup.ts';
import { parseCents, usdText } from '@millrace/sdk/text';

const minCents = 500;
const maxCents = 1_000_000;
const pollMs = 2_000;

export const command = defineCommand({
  name: 'topup',
  summary: 'Add money: gives the page to pay on',
  description:
    'Nothing is charged by this command: it makes a payment page, and you pay there. The balance changes when the payment ' +
    'is confirmed. With --wait the command stays until then; Ctrl-C stops waiting only.',
  positionals: [{ name: 'amount', describe: 'dollars and cents, from 5 to 10000' }],
  flags: { wait: { type: 'boolean', describe: 'wait until it is paid, or can no longer be' } },
  examples: {
    'millrace topup 25': 'a page to pay 25 dollars on',
    'millrace topup 100.50 --wait': 'and wait until it was paid',
  },
  operations: ['createTopUp', 'getTopUp'],
  json: 'record',
  failure: 'Could not start the top-up',
  run: async (context, { args, flags }) => {
    const amountCents = parseTopUpAmount(args.amount);
    const topUp = await context.client().topUps.create({ amountCents });
    const isTable = context.output.format === 'table';
    if (isTable && topUp.checkoutUrl !== null) {
      context.note(`Pay ${usdText(topUp.amountNanoUsd)} here:`);
    }
    if (flags.wait !== true) {
      if (isTable && topUp.checkoutUrl !== null) context.io.out(`${safeText(topUp.checkoutUrl)}\n`);
      else printRecord(context, topUp, topUpColumns);
      if (isTable) context.note(`Then: millrace topup get ${topUp.paymentId}`);
      return;
    }
    if (isTable && topUp.checkoutUrl !== null) context.note(topUp.checkoutUrl);
    printRecord(context, await waitForPayment(context, topUp), topUpColumns);
  },
});

function parseTopUpAmount(typed: string): number {
  const cents = parseCents(typed);
  if (cents === null) {
    throw new UsageError(
      `AMOUNT is ${JSON.stringify(typed)}; it is dollars with at most two decimals, such as 25.`,
    );
  }
  if (cents < minCents || cents > maxCents) {
    throw new UsageError(`AMOUNT is ${typed}; from 5 to 10000 dollars can be added at once.`);
  }
  return cents;
}

async function waitForPayment(context: Context, started: TopUp): Promise<TopUp> {
  const { clock, signal } = context;
  const { paymentId } = started;
  context.note('Waiting for the payment. Ctrl-C stops waiting; the page stays.');
  let topUp = started;
  try {
    while (isInProgress(topUp)) {
      await clock.sleep(pollMs, signal);
      topUp = await context.client().topUps.get({ paymentId }, { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new CancelledError(`Stopped waiting. What became of it: millrace topup get ${paymentId}`);
  }
  if (topUp.state === 'paid') return topUp;
  throw new CliError('The top-up was not paid.', {
    why: `Its state is ${topUp.state}.`,
    fix: `millrace topup get ${paymentId}`,
  });
}
