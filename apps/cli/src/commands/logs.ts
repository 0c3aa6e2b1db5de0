import { defineCommand } from '../framework/command.ts';
import { printJson } from '../framework/output.ts';
import { safeLines } from '../framework/text.ts';
import { newOutput } from '../rentals/console.ts';
import { findRentalId } from '../rentals/find.ts';

const followMs = 3_000;

export const command = defineCommand({
  name: 'logs',
  summary: 'Show the console output of a rental',
  description:
    'The end of the serial console: boot and system messages. It does not include the output of your programs.',
  positionals: [{ name: 'rental', describe: 'name or id of the rental' }],
  flags: {
    follow: { type: 'boolean', short: 'f', describe: 'keep showing new output until Ctrl-C' },
    bytes: {
      type: 'number',
      integer: true,
      min: 1,
      max: 1_048_576,
      value: 'N',
      default: 65_536,
      describe: 'how much of the end to show',
    },
  },
  examples: {
    'millrace logs train': 'Find out why it does not boot',
    'millrace logs 1042 --follow': 'Follow the boot',
  },
  operations: ['getRentalConsole', 'listVirtualMachineRentals', 'listBareMetalRentals'],
  json: 'record',
  failure: 'Could not read the console.',
  async run(context, { args, flags }) {
    const { clock, io, signal, client } = context;
    const rentalId = await findRentalId(context, args.rental);
    const read = () => client().rentals.getConsole({ rentalId, maxBytes: flags.bytes }, { signal });
    const first = await read();
    if (context.output.format === 'json') {
      printJson(context, first);
      return;
    }
    if (first.truncated) context.note('Earlier output is omitted; --bytes shows more.');
    io.out(safeLines(first.output));
    if (flags.follow !== true) {
      if (!first.output.endsWith('\n')) io.out('\n');
      return;
    }
    let known = first.output;
    try {
      for (;;) {
        await clock.sleep(followMs, signal);
        const { output } = await read();
        io.out(safeLines(newOutput(known, output)));
        known = output;
      }
    } catch (error) {
      // Ctrl-C ends following.
      if (!signal.aborted) throw error;
      if (!known.endsWith('\n')) io.out('\n');
    }
  },
});
