import { defineCommand } from '../../framework/command.ts';
import type { Context } from '../../framework/context.ts';
import { printResult } from '../../framework/output.ts';
import { handleOf } from '../../rentals/find.ts';
import {
  noCapacityError,
  quoteLines,
  fetchQuote,
  requirePlaceable,
  showQuote,
  quoteTitle,
} from '../../rentals/money.ts';
import { createFlags, readCreateRequest, type CreateRequest } from '../../rentals/create-request.ts';
import { waitUntilRunning, waitForRental, loginHint } from '../../rentals/wait-for-rental.ts';
import { readQuoteRequest, quoteFlags, type QuoteRequest } from '../../rentals/quote-request.ts';

export const command = defineCommand({
  name: 'rental create',
  summary: 'Rent a machine, and wait until it can be used',
  description:
    'Shows the cost and asks before anything happens. Without --region it takes the cheapest that is free now. You pay by the second from when the machine was proven usable; one that cannot be made costs nothing. Ctrl-C stops watching, and the rental goes on.',
  flags: {
    ...quoteFlags,
    ...createFlags,
    wait: { type: 'boolean', describe: 'wait until it runs; --no-wait returns at once' },
  },
  examples: {
    'millrace rental create --gpu h100 --count 2': 'Two H100s where they are cheapest',
    'millrace rental create --gpu h100 --name train --ttl 8h --max-usd 20 --yes':
      'With an end and a limit, in a script',
    'millrace rental create --bare-metal --count 16 --network infiniband --region us-central-1':
      'Two whole nodes on one fast network',
  },
  operations: [
    'getRental',
    'createVirtualMachineRental',
    'createBareMetalRental',
    'quoteRental',
    'explainPlacement',
    'listRentalOptions',
    'listStorageVolumes',
  ],
  json: 'record',
  failure: 'Could not create the rental.',
  async run(context, { flags }) {
    const request = await readQuoteRequest(context, flags);
    const order = await readCreateRequest(context, flags, request);
    const quote = await fetchQuote(
      context,
      { ...request, storageSizeInGb: flags['storage-gb'] },
      order.body.ttlSeconds,
    );
    await requirePlaceable(context, request, quote);
    showQuote(
      context,
      `${order.body.name ?? ''}: ${quoteTitle(request)}`,
      quoteLines(quote, order.body.ttlSeconds),
    );
    await context.confirm('Create it?');
    const rentalId = await createRental(context, order, request);
    const { client, signal } = context;
    const made = await client().rentals.get({ rentalId }, { signal });
    if (flags.wait === false) {
      printResult(
        context,
        `Rental ${made.id} (${handleOf(made)}) is being made. Watch it: millrace rental wait ${made.id}`,
        made,
      );
      return;
    }
    const rental = await waitForRental(context, rentalId, waitUntilRunning(made));
    printResult(context, `Rental ${rental.id} (${handleOf(rental)}) is running.${loginHint(rental)}`, rental);
  },
});

async function createRental(
  { client, signal, ...context }: Context,
  order: CreateRequest,
  request: QuoteRequest,
): Promise<number> {
  const { rentals } = client();
  try {
    const { id } =
      order.type === 'bare-metal'
        ? await rentals.createBareMetal(order.body, { signal })
        : await rentals.createVirtualMachine(order.body, { signal });
    return id;
  } catch (error) {
    // Somebody was faster. What is left is worth more than the refusal.
    const isFull = error instanceof Error && 'reason' in error && error.reason === 'INSUFFICIENT_CAPACITY';
    throw isFull ? await noCapacityError({ ...context, client, signal }, request, error) : error;
  }
}
