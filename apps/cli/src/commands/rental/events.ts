import { eventLine } from '../../events/feed.ts';
import { defineCommand } from '../../framework/command.ts';
import { printJsonLine } from '../../framework/output.ts';
import { findRentalId } from '../../rentals/find.ts';

/** Following continues through long outages of the service. */
const reconnections = 1_000;

export const command = defineCommand({
  name: 'rental events',
  summary: 'List the events of a rental, oldest first',
  positionals: [{ name: 'rental', describe: 'name or id of the rental, also if it has ended' }],
  flags: { follow: { type: 'boolean', short: 'f', describe: 'keep showing new events until Ctrl-C' } },
  examples: {
    'millrace rental events train': 'All events so far',
    'millrace rental events 1042 --follow --json': 'One JSON object per line, as it happens',
  },
  operations: ['listRentalEvents', 'listVirtualMachineRentals', 'listBareMetalRentals', 'listRentalHistory'],
  json: 'lines',
  failure: 'Could not read the events.',
  async run(context, { args, flags }) {
    const rentalId = await findRentalId(context, args.rental, { ended: true });
    const { rentals } = context.client();
    const { signal } = context;
    const events =
      flags.follow === true
        ? rentals.streamEvents({ rentalId }, { signal, maxRetries: reconnections })
        : rentals.listEvents({ rentalId, limit: 200 }, { signal });
    let count = 0;
    try {
      for await (const event of events) {
        count += 1;
        if (context.output.format === 'json') printJsonLine(context, event);
        else context.io.out(`${eventLine(event, context.io)}\n`);
      }
    } catch (error) {
      // Ctrl-C ends following.
      if (flags.follow !== true || !signal.aborted) throw error;
    }
    if (count === 0) context.note('No events yet.');
  },
});
