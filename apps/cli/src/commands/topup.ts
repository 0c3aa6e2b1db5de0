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
  summary: 'Add money through a payment page',
  description:
    'This command charges nothing: it creates a payment page, where you pay. The balance changes when the payment is confirmed. --wait waits for that; Ctrl-C only stops waiting.',
  positionals: [{ name: 'amount', describe: 'dollars and cents, from 5 to 10000' }],
  flags: { wait: { type: 'boolean', describe: 'wait until it is paid or has expired' } },
  examples: {
    'millrace topup 25': 'A page to pay 25 dollars',
    'millrace topup 100.50 --wait': 'And wait until it is paid',
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
      if (isTable) context.note(`Check it later: millrace topup get ${topUp.paymentId}`);
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
      `AMOUNT is ${JSON.stringify(typed)}; use dollars with at most two decimals, such as 25.`,
    );
  }
  if (cents < minCents || cents > maxCents) {
    throw new UsageError(`AMOUNT is ${typed}; use 5 to 10000 dollars.`);
  }
  return cents;
}

async function waitForPayment(context: Context, started: TopUp): Promise<TopUp> {
  const { clock, signal } = context;
  const { paymentId } = started;
  context.note('Waiting for the payment. Ctrl-C stops waiting; the page stays open.');
  let topUp = started;
  try {
    while (isInProgress(topUp)) {
      await clock.sleep(pollMs, signal);
      topUp = await context.client().topUps.get({ paymentId }, { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new CancelledError(`Stopped waiting. Check the payment: millrace topup get ${paymentId}`);
  }
  if (topUp.state === 'paid') return topUp;
  throw new CliError('The top-up was not paid.', {
    why: `Its state is ${topUp.state}.`,
    fix: `millrace topup get ${paymentId}`,
  });
}
