import { defineCommand } from '../../framework/command.ts';
import { fewFlag } from '../../money/limit.ts';
import { inMode, noteTestMode } from '../../money/mode.ts';
import { printList } from '../../framework/output.ts';
import { machineColumns } from '../../market/columns.ts';
import { defaultRegion } from '../../market/find.ts';
import { truncatedListNote } from '../../text/truncated-list.ts';

const unverified = 'GPUs are unverified: the models are as the machines report them.';

export const command = defineCommand({
  name: 'market list',
  summary: 'List available machines of suppliers, cheapest first',
  description:
    'Prices are per GPU and hour. The hardware is as the engine reports it; the GPUs are unverified, because no computation has tested them. Speeds were measured when the machine joined. Works without a key; with a test key it lists machines for test mode.',
  flags: {
    gpu: { type: 'text', value: 'MODEL', describe: 'only this GPU model, such as H100' },
    gpus: {
      type: 'number',
      integer: true,
      min: 1,
      value: 'N',
      default: 1,
      describe: 'with at least this many available',
    },
    'max-price': { type: 'number', min: 0, value: 'USD', describe: 'maximum price per GPU and hour' },
    region: { type: 'text', value: 'REGION', describe: 'only in this region' },
    all: { type: 'boolean', describe: 'also machines that are rented or not ready' },
    ...fewFlag(10, 999),
  },
  examples: {
    'millrace market list --gpu H100 --gpus 2': 'Two available H100s in one machine',
    'millrace market list --max-price 2.50 --columns node,gpu,price,cluster': 'Cheap machines',
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
      empty: `No machines match${inMode(context)}. Include rented machines: millrace market list --all`,
      footer: footer === null ? unverified : `${footer}\n${unverified}`,
    });
    if (shown.length > 0) noteTestMode(context);
  },
});
