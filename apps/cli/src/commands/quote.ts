import { defineCommand } from '../framework/command.ts';
import { printJson } from '../framework/output.ts';
import { noteTestMode } from '../money/mode.ts';
import { parseDurationFlag } from '../rentals/flags.ts';
import { quoteLines, fetchQuote, quoteTitle } from '../rentals/money.ts';
import { readQuoteRequest, quoteFlags } from '../rentals/quote-request.ts';

export const command = defineCommand({
  name: 'quote',
  summary: 'Quote the cost of a rental',
  description: 'It reserves nothing. Amounts are exact to the nano-USD.',
  flags: {
    ...quoteFlags,
    for: { type: 'text', value: 'TIME', describe: 'also the cost of running this long: 90m, 2h, 3d' },
    'storage-gb': {
      type: 'number',
      integer: true,
      min: 256,
      value: 'GB',
      describe: 'with a new volume of this size',
    },
  },
  examples: {
    'millrace quote --gpu h100 --count 2 --for 3d': 'Three days of two H100s',
    'millrace quote --bare-metal --count 16 --days 30': 'Two nodes, reserved for a month',
  },
  operations: ['quoteRental', 'listRentalOptions'],
  json: {
    kind: 'record',
    fields: [
      'costPerHour',
      'costPerHourNanoUsd',
      'originalCostPerHour',
      'discountPercentage',
      'costPerSecondNanoUsd',
      'lines',
      'minimumBalanceNanoUsd',
      'holdNanoUsd',
      'totalNanoUsd',
      'term',
      'released',
      'live',
      'runwaySeconds',
      'available',
      'affordable',
      'idleRules',
      'validUntil',
    ],
  },
  async run(context, { flags }) {
    const seconds = flags.for === undefined ? undefined : parseDurationFlag('for', flags.for);
    const request = await readQuoteRequest(context, flags);
    const storage = { storageSizeInGb: flags['storage-gb'] };
    const quote = await fetchQuote(context, { ...request, ...storage }, seconds);
    if (context.output.format === 'json') {
      printJson(context, quote);
      return;
    }
    const lines = quoteLines(quote, seconds);
    const width = Math.max(...lines.map(([label]) => label.length)) + 2;
    context.io.out(`${quoteTitle(request)}\n`);
    for (const [label, amount] of lines) context.io.out(`  ${label.padEnd(width)}${amount}\n`);
    noteTestMode(context);
    if (!quote.available) context.note('No host has capacity for it now. See why: millrace offers explain');
    if (!quote.affordable) context.note('Your balance is too low to start it. See: millrace balance');
  },
});
