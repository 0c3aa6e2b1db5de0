import { defineCommand } from '../../framework/command.ts';
import { UsageError } from '../../framework/errors.ts';
import { printResult } from '../../framework/output.ts';
import { findRentalId, handleOf } from '../../rentals/find.ts';
import { parseDurationFlag, parseTagFlags } from '../../rentals/flags.ts';

export const command = defineCommand({
  name: 'rental update',
  summary: 'Change the settings of a rental',
  description: 'Omitted settings stay unchanged. --lift-ttl and --lift-max-usd remove a limit.',
  positionals: [{ name: 'rental', describe: 'name or id of the rental' }],
  flags: {
    name: { type: 'text', value: 'NAME', describe: 'the new name' },
    label: { type: 'text', value: 'TEXT', describe: 'the new label' },
    tag: { type: 'list', value: 'NAME=VALUE', describe: 'replaces all of its tags' },
    ttl: { type: 'text', value: 'TIME', describe: 'terminate it after this time from now: 90m, 2h, 3d' },
    'lift-ttl': { type: 'boolean', describe: 'remove the TTL' },
    'max-usd': { type: 'number', min: 0, value: 'USD', describe: 'terminate it before it costs more' },
    'lift-max-usd': { type: 'boolean', describe: 'remove the spending limit' },
    convert: {
      type: 'boolean',
      describe: 'continue on demand after a reserved term; --no-convert terminates it',
    },
  },
  examples: {
    'millrace rental update train --max-usd 50': 'Set a spending limit',
    'millrace rental update 1042 --tag team=vision --lift-ttl': 'Set tags and remove the TTL',
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
      throw new UsageError('Nothing to change. Name at least one setting: millrace help rental update');
    }
    const rentalId = await findRentalId(context, args.rental);
    const { signal } = context;
    const rental = await context.client().rentals.update({ rentalId, ...changes }, { signal });
    printResult(context, `Rental ${rentalId} (${handleOf(rental)}) was changed.`, rental);
  },
});
