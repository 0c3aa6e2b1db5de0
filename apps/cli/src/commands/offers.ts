import { defineCommand } from '../framework/command.ts';
import type { Context } from '../framework/context.ts';
import { fewFlag } from '../money/limit.ts';
import { inMode, liveColumn, noteTestMode } from '../money/mode.ts';
import { printList, type Column } from '../framework/output.ts';
import type { Item } from '../sdk.ts';
import { truncatedListNote } from '../text/truncated-list.ts';
import { perHourText } from '@millrace/sdk/text';

type Option = Item<'listRentalOptions'>;

const columns = (context: Context): readonly Column<Option>[] => [
  { name: 'gpus', value: ({ gpuCount, gpuType }) => `${gpuCount} × ${gpuType}` },
  { name: 'region', value: ({ region }) => region },
  { name: 'type', value: ({ machineType }) => machineType },
  { name: 'network', value: ({ connectionType }) => connectionType },
  { name: 'cpus', value: ({ nodes }) => nodes[0]?.vcpuCount, align: 'right' },
  { name: 'ram', value: ({ nodes }) => sizeText(nodes[0]?.ramGb), align: 'right' },
  { name: 'disk', value: ({ nodes }) => sizeText(nodes[0]?.storageGb), align: 'right' },
  {
    name: 'free',
    value: ({ enabled, totalAvailable }) => (enabled ? totalAvailable : 'closed'),
    align: 'right',
  },
  { name: 'price', value: ({ costPerHour }) => perHourText(costPerHour), align: 'right' },
  liveColumn(context, ({ livePricePerHourNanoUsd }) => livePricePerHourNanoUsd),
  { name: 'nodes', value: ({ nodes }) => nodes.length, align: 'right', extra: true },
  { name: 'form', value: ({ gpuFormFactor }) => gpuFormFactor, extra: true },
];

const sizeText = (gb: number | undefined): string => (gb === undefined ? '' : `${gb} GB`);

export const command = defineCommand({
  name: 'offers',
  summary: 'List what you can rent now, with prices',
  description:
    'Lists available machines, cheapest first. Prices include your contract prices, on demand and before discounts. CPUs, memory and disk are the minimum of each node.',
  flags: {
    gpu: { type: 'text', value: 'TYPE', describe: 'only this GPU type: h100, h200, b200 …' },
    count: {
      type: 'number',
      integer: true,
      min: 1,
      value: 'N',
      describe: 'only machines with this number of GPUs',
    },
    region: { type: 'text', value: 'REGION', describe: 'only in this region' },
    type: {
      type: 'text',
      value: 'TYPE',
      choices: ['virtual-machine', 'bare-metal'],
      describe: 'only machines of this type',
    },
    all: { type: 'boolean', describe: 'also sold-out and closed offers' },
    ...fewFlag(10),
  },
  examples: {
    'millrace offers --gpu h100': 'Regions with available H100s',
    'millrace offers --count 8 --type bare-metal --limit 50': 'Whole nodes',
    'millrace offers --all --json': 'All offers, for a script',
  },
  operations: ['listRentalOptions'],
  json: 'list',
  async run(context, { flags }) {
    const query = {
      gpuType: flags.gpu?.toLowerCase() as Option['gpuType'] | undefined,
      region: flags.region as Option['region'] | undefined,
      machineType: flags.type,
      limit: 200,
    };
    const found: Option[] = [];
    for await (const option of context.client().options.list(query, { signal: context.signal })) {
      const isFree = option.enabled && option.totalAvailable > 0;
      const isMatch = flags.count === undefined || option.gpuCount === flags.count;
      if (isMatch && (isFree || flags.all === true)) found.push(option);
    }
    const sorted = found.toSorted((a, b) => a.costPerHour - b.costPerHour);
    // Scripts with --json get all offers, because no screen limits them.
    const isWhole = context.output.format === 'json' && flags.limit === 10;
    const shown = isWhole ? sorted : sorted.slice(0, flags.limit);
    const footer = truncatedListNote({
      shown: shown.length,
      total: sorted.length,
      noun: 'offers',
      more: `All offers: millrace offers --limit ${sorted.length}`,
    });
    printList(context, shown, columns(context), {
      empty: `No offers match${inMode(context)} now. Include sold-out offers: millrace offers --all`,
      ...(footer === null ? {} : { footer }),
    });
    if (shown.length > 0) noteTestMode(context);
  },
});
