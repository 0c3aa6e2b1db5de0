import { defineCommand } from '../../framework/command.ts';
import { fewFlag } from '../../money/limit.ts';
import { printList } from '../../framework/output.ts';
import { machineColumns } from '../../market/columns.ts';
import { defaultRegion } from '../../market/find.ts';
import { truncatedListNote } from '../../text/truncated-list.ts';

const unverified = 'GPUs are unverified: the models are what the machines report.';

export const command = defineCommand({
  name: 'market list',
  summary: 'Machines of suppliers that can be rented now, the cheapest first',
  description:
    'The price is of one GPU and hour. Hardware is what its engine reports; no computation has proven the GPUs, so they are unverified. Speeds were measured when it joined. Needs no key; with a test key it shows what that can rent.',
  flags: {
    gpu: { type: 'text', value: 'MODEL', describe: 'only these GPUs, as H100' },
    gpus: {
      type: 'number',
      integer: true,
      min: 1,
      value: 'N',
      default: 1,
      describe: 'with so many free at least',
    },
    'max-price': { type: 'number', min: 0, value: 'USD', describe: 'for at most so much a GPU and hour' },
    region: { type: 'text', value: 'REGION', describe: 'only there' },
    all: { type: 'boolean', describe: 'also those that are taken or not ready' },
    ...fewFlag(10, 999),
  },
  examples: {
    'millrace market list --gpu H100 --gpus 2': 'Two free H100s in one machine',
    'millrace market list --max-price 2.50 --columns node,gpu,price,cluster': 'What is cheap',
  },
  operations: ['listMarketplaceMachines'],
  json: 'list',
  async run(context, { flags }) {
    const { limit } = flags;
    const filters = {
      gpu_model: flags.gpu,
      max_price: flags['max-price'],
      region: defaultRegion(context, flags.region),
      ...(flags.all === true ? {} : { available: true, min_gpus_available: flags.gpus }),
    };
    const sort = [{ field: 'pricing.price.amount' as const, dir: 'asc' as const }];
    const page = await context
      .openClient()
      .marketplace.list({ filters, sort, limit: limit + 1 }, { signal: context.signal });
    const shown = page.items.slice(0, limit);
    const footer = truncatedListNote({
      shown: shown.length,
      total: page.items.length > shown.length ? null : shown.length,
      noun: 'machines',
      more: `More: millrace market list --limit ${Math.min(999, limit * 5)}`,
    });
    printList(context, shown, machineColumns, {
      empty: 'No machine like that is free now. See also those that are taken: millrace market list --all',
      footer: footer === null ? unverified : `${footer}\n${unverified}`,
    });
  },
});
