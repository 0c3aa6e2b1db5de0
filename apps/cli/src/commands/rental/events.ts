import { eventLine } from '../../events/feed.ts';
import { defineCommand } from '../../framework/command.ts';
import { printJsonLine } from '../../framework/output.ts';
import { findRentalId } from '../../rentals/find.ts';

/** What is followed is waited for, however long the service is away. */
const reconnections = 1_000;

export const command = defineCommand({
  name: 'rental events',
  summary: 'What happened to a rental, oldest first',
  positionals: [{ name: 'rental', describe: 'its name or number; also one that has ended' }],
  flags: { follow: { type: 'boolean', short: 'f', describe: 'go on showing what happens, until Ctrl-C' } },
  examples: {
    'millrace rental events train': 'Its whole life so far',
    'millrace rental events 1042 --follow --json': 'One JSON object a line, as it happens',
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
      // Ctrl-C is how following ends.
      if (flags.follow !== true || !signal.aborted) throw error;
    }
    if (count === 0) context.note('Nothing has happened to it yet.');
  },
});
