import { defineCommand } from '../../framework/command.ts';
import { UsageError } from '../../framework/errors.ts';
import { printResult } from '../../framework/output.ts';
import { findRentalId, handleOf } from '../../rentals/find.ts';
import { parseDurationFlag, parseTagFlags } from '../../rentals/flags.ts';

export const command = defineCommand({
  name: 'rental update',
  summary: 'Change what may be changed about a rental',
  description: 'What is not named stays as it is. --lift-ttl and --lift-max-usd lift an end that was set.',
  positionals: [{ name: 'rental', describe: 'its name or number' }],
  flags: {
    name: { type: 'text', value: 'NAME', describe: 'what to call it' },
    label: { type: 'text', value: 'TEXT', describe: 'its label' },
    tag: { type: 'list', value: 'NAME=VALUE', describe: 'all of its tags from now on' },
    ttl: { type: 'text', value: 'TIME', describe: 'end it so long from now: 90m, 2h, 3d' },
    'lift-ttl': { type: 'boolean', describe: 'let it last' },
    'max-usd': { type: 'number', min: 0, value: 'USD', describe: 'end it before it costs more' },
    'lift-max-usd': { type: 'boolean', describe: 'whatever it costs' },
    convert: { type: 'boolean', describe: 'after a reserved term go on by the hour; --no-convert ends it' },
  },
  examples: {
    'millrace rental update train --max-usd 50': 'A limit on what it may cost',
    'millrace rental update 1042 --tag team=vision --lift-ttl': 'Tags, and no end',
  },
  operations: ['updateRental', 'listVirtualMachineRentals', 'listBareMetalRentals'],
  json: 'record',
  failure: 'Could not change the rental.',
  async run(context, { args, flags }) {
    const ttl = flags.ttl === undefined ? undefined : parseDurationFlag('ttl', flags.ttl);
    const changes = {
      name: flags.name,
      label: flags.label,
      tags: parseTagFlags(flags.tag),
      ttlSeconds: flags['lift-ttl'] === true ? null : ttl,
      maxUsd: flags['lift-max-usd'] === true ? null : flags['max-usd'],
      convertToOnDemandOnExpiry: flags.convert,
    };
    if (Object.values(changes).every((value) => value === undefined)) {
      throw new UsageError('Nothing to change was named.');
    }
    const rentalId = await findRentalId(context, args.rental);
    const { signal } = context;
    const rental = await context.client().rentals.update({ rentalId, ...changes }, { signal });
    printResult(context, `Rental ${rentalId} (${handleOf(rental)}) was changed.`, rental);
  },
});
