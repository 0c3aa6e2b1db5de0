import { reasonFlag } from '../../../admin/nodes.ts';
import { parseAmount } from '../../../admin/organisations.ts';
import { parsePriceSubject, subjectText, priceUnit } from '../../../admin/prices.ts';
import { defineCommand } from '../../../framework/command.ts';
import { printResult } from '../../../framework/output.ts';
import { usdText } from '@millrace/sdk/text';
import { parseTimestamp, timestampText } from '../../../text/timestamps.ts';

export const command = defineCommand({
  name: 'admin price create',
  summary: 'Set a price from a given time',
  description:
    'The price list only grows: running resources keep the price frozen at their start. GPUs are priced per hour, storage per GB and hour, tokens per million, images and characters each.',
  positionals: [{ name: 'amount', describe: 'USD per unit, such as 2.49' }],
  flags: {
    gpu: { type: 'text', value: 'GPU', describe: 'for this GPU type' },
    'machine-type': {
      type: 'text',
      value: 'TYPE',
      choices: ['virtual-machine', 'bare-metal'],
      default: 'virtual-machine',
      describe: 'with --gpu: the kind of machine',
    },
    network: {
      type: 'text',
      value: 'TYPE',
      choices: ['infiniband', 'ethernet'],
      describe: 'with --gpu: only on this network',
    },
    volume: { type: 'boolean', describe: 'for storage volumes' },
    disk: { type: 'boolean', describe: 'for disks of stopped rentals' },
    model: { type: 'text', value: 'MODEL', describe: 'for this model' },
    'model-unit': {
      type: 'text',
      value: 'UNIT',
      choices: ['prompt_token', 'cached_prompt_token', 'completion_token', 'image', 'character'],
      default: 'completion_token',
      describe: 'with --model: the unit',
    },
    region: { type: 'text', value: 'REGION', describe: 'only in this region' },
    from: { type: 'text', value: 'TIME', required: true, describe: 'from this day or time' },
    until: { type: 'text', value: 'TIME', describe: 'until this day or time' },
    org: { type: 'text', value: 'ID', describe: 'a contract price for this organisation only' },
    ...reasonFlag,
  },
  examples: {
    'millrace admin price create 2.49 --gpu h100 --from 2026-12-01 --reason "winter prices"':
      'A GPU type in all regions',
    'millrace admin price create 0.6 --model qwen --model-unit prompt_token --from 2026-12-01 --reason "new model"':
      'A million prompt tokens of a model',
  },
  operations: ['adminCreatePrice'],
  json: 'record',
  failure: 'Could not set the price',
  async run(context, { args, flags }) {
    const subject = parsePriceSubject(flags);
    const unit = priceUnit(subject);
    const priceNanoUsd = parseAmount(args.amount);
    const validFrom = parseTimestamp('--from', flags.from);
    const what = `${usdText(priceNanoUsd)} per ${unit.replaceAll('_', ' ')} for ${subjectText(subject)}`;
    await context.confirm(`Set ${what} from ${timestampText(validFrom)}?`);
    const price = await context.client().admin.prices.create(
      {
        subject,
        unit,
        priceNanoUsd,
        validFrom,
        reason: flags.reason,
        ...(flags.until === undefined ? {} : { validUntil: parseTimestamp('--until', flags.until) }),
        organisationId: flags.org,
      },
      { signal: context.signal },
    );
    printResult(context, `Set ${what} (${price.id}).`, price);
  },
});
