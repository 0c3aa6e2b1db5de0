import { defineCommand } from '../../framework/command.ts';
import { UsageError } from '../../framework/errors.ts';
import { printResult } from '../../framework/output.ts';
import { endText } from '../../rentals/columns.ts';
import { findRental, handleOf, type Rental } from '../../rentals/find.ts';
import { parseDurationFlag } from '../../rentals/flags.ts';
import { quoteLines, fetchQuote, showQuote, quoteTitle } from '../../rentals/money.ts';
import type { QuoteRequest } from '../../rentals/quote-request.ts';

export const command = defineCommand({
  name: 'rental extend',
  summary: 'Extend a rental',
  description:
    '--days extends a reserved term from its current end, at the current price. --by extends a TTL. To set a TTL, use millrace rental update --ttl.',
  positionals: [{ name: 'rental', describe: 'name or id of the rental' }],
  flags: {
    days: { type: 'number', integer: true, min: 1, value: 'N', describe: 'reserve for this many more days' },
    by: { type: 'text', value: 'TIME', describe: 'extend its TTL by this time: 90m, 2h, 3d' },
  },
  examples: {
    'millrace rental extend train --by 4h': 'Four more hours',
    'millrace rental extend 1042 --days 30 --yes': 'Another month of its term',
  },
  operations: [
    'extendRental',
    'quoteRental',
    'getRental',
    'listVirtualMachineRentals',
    'listBareMetalRentals',
  ],
  json: 'record',
  failure: 'Could not extend the rental.',
  async run(context, { args, flags }) {
    if ((flags.days === undefined) === (flags.by === undefined)) {
      throw new UsageError('Use either --days, for a reserved term, or --by, for a TTL.');
    }
    const ttlSeconds = flags.by === undefined ? undefined : parseDurationFlag('by', flags.by);
    const rental = await findRental(context, args.rental);
    const { id: rentalId } = rental;
    if (flags.days !== undefined) {
      const request = {
        ...quoteRequestFor(rental),
        termType: 'reserved',
        termPeriodDays: flags.days,
      } as const;
      const quote = await fetchQuote(context, request, undefined);
      showQuote(
        context,
        `${handleOf(rental)}: ${flags.days} more days of ${quoteTitle(request)}`,
        quoteLines(quote, undefined),
      );
      await context.confirm(`Reserve rental ${rentalId} (${handleOf(rental)}) for ${flags.days} more days?`);
    }
    const { rentals } = context.client();
    const { signal } = context;
    const extended =
      flags.days === undefined
        ? await rentals.extend({ rentalId, ttlSeconds: ttlSeconds ?? 0 }, { signal })
        : await rentals.extend({ rentalId, termPeriodDays: flags.days }, { signal });
    const end = endText(extended, context.clock.now().getTime());
    printResult(context, `Rental ${rentalId} (${handleOf(extended)}) ends ${end}.`, extended);
  },
});

/** The quote request that corresponds to this rental. */
function quoteRequestFor({ rentalType, gpuCount, gpuType, region, connectionType }: Rental): QuoteRequest {
  return { rentalType, gpuCount, gpuType, region, networkType: connectionType };
}
