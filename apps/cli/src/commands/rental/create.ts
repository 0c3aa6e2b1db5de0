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
  summary: 'Rent a machine and wait until it is ready',
  description:
    'Shows the cost and asks for confirmation. Without --region it uses the cheapest available region. Billing is per second and starts when the machine passes its readiness check; failed launches are free. Ctrl-C stops watching; the rental keeps running.',
  flags: {
    ...quoteFlags,
    ...createFlags,
    wait: { type: 'boolean', describe: 'wait until it runs; --no-wait returns immediately' },
  },
  examples: {
    'millrace rental create --gpu h100 --count 2': 'Two H100s in the cheapest region',
    'millrace rental create --gpu h100 --name train --ttl 8h --max-usd 20 --yes':
      'With a TTL and a spending limit, in a script',
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
        `Rental ${made.id} (${handleOf(made)}) is starting. Watch it: millrace rental wait ${made.id}`,
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
    // Another tenant was faster. Alternatives are more useful than the error.
    const isFull = error instanceof Error && 'reason' in error && error.reason === 'INSUFFICIENT_CAPACITY';
    throw isFull ? await noCapacityError({ ...context, client, signal }, request, error) : error;
  }
}
