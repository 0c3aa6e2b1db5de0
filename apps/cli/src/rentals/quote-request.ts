import type { Context } from '../framework/context.ts';
import type { Flags } from '../framework/command.ts';
import { CliError } from '../framework/errors.ts';
import { exitCodes } from '../framework/exit-codes.ts';
import type { Output, Input } from '../sdk.ts';

/** The flags of offers, quotes, explanations and create requests. */

export type QuoteRequest = Input<'quoteRental'>;
type Option = Output<'listRentalOptions'>['items'][number];

export const quoteFlags = {
  gpu: { type: 'text', value: 'TYPE', default: 'h100', describe: 'the GPU type: h100, h200, b200 …' },
  count: {
    type: 'number',
    integer: true,
    min: 1,
    value: 'N',
    describe: 'the number of GPUs; default 1, or 8 for bare metal',
  },
  region: { type: 'text', value: 'REGION', describe: 'the region; default: the cheapest now' },
  network: {
    type: 'text',
    value: 'KIND',
    choices: ['ethernet', 'infiniband'],
    describe: 'the network between machines',
  },
  'bare-metal': { type: 'boolean', describe: 'whole nodes without other tenants, in multiples of 8 GPUs' },
  cuda: {
    type: 'text',
    value: 'VERSION',
    describe: 'the lowest CUDA version that must be supported: cuda12.8',
  },
  days: {
    type: 'number',
    integer: true,
    min: 1,
    value: 'N',
    describe: 'reserve for this many days; see millrace reserve list',
  },
  discount: {
    type: 'number',
    min: 0,
    max: 100,
    value: 'PERCENT',
    describe: 'a discount of your contract',
  },
} as const satisfies Flags;

export interface QuoteFlags {
  readonly gpu: string;
  readonly count: number | undefined;
  readonly region: string | undefined;
  readonly network: 'ethernet' | 'infiniband' | undefined;
  readonly 'bare-metal': boolean | undefined;
  readonly cuda: string | undefined;
  readonly days: number | undefined;
  readonly discount: number | undefined;
}

/**
 * Builds the quote request. Missing values are filled in here and shown before confirmation. The API validates
 * values, so that an older CLI can use a newer installation.
 */
export async function readQuoteRequest(context: Context, flags: QuoteFlags): Promise<QuoteRequest> {
  const isBareMetal = flags['bare-metal'] === true;
  const query: OfferQuery = {
    gpuType: flags.gpu.toLowerCase(),
    machineType: isBareMetal ? 'bare-metal' : 'virtual-machine',
    gpuCount: flags.count ?? (isBareMetal ? 8 : 1),
    network: flags.network,
  };
  const { region, network } = await chooseRegion(context, query, flags.region);
  return {
    rentalType: query.machineType,
    gpuCount: query.gpuCount,
    gpuType: query.gpuType as QuoteRequest['gpuType'],
    region: region as QuoteRequest['region'],
    networkType: network,
    cudaVersion: flags.cuda as QuoteRequest['cudaVersion'],
    discountPercentage: flags.discount ?? 0,
    ...(flags.days === undefined ? {} : { termType: 'reserved', termPeriodDays: flags.days }),
  };
}

interface OfferQuery {
  readonly gpuType: string;
  readonly machineType: 'virtual-machine' | 'bare-metal';
  readonly gpuCount: number;
  readonly network: 'ethernet' | 'infiniband' | undefined;
}

async function chooseRegion(
  context: Context,
  wanted: OfferQuery,
  region: string | undefined,
): Promise<{ readonly region: string; readonly network: 'ethernet' | 'infiniband' }> {
  if (region !== undefined && wanted.network !== undefined) return { region, network: wanted.network };
  const options: Option[] = [];
  const { gpuType, machineType } = wanted;
  const query = {
    gpuType: gpuType as Option['gpuType'],
    machineType,
    ...(region === undefined ? {} : { region: region as Option['region'] }),
    limit: 200,
  };
  for await (const option of context.client().options.list(query, { signal: context.signal })) {
    options.push(option);
  }
  const best = cheapestOption(options, wanted);
  if (best !== null) return { region: best.region, network: best.connectionType };
  // The user chose the region; the API decides whether it is available.
  if (region !== undefined) return { region, network: wanted.network ?? 'ethernet' };
  const kind = machineType === 'bare-metal' ? 'of bare metal' : 'in one virtual machine';
  throw new CliError('No matching machine is available.', {
    why: `No region has ${String(wanted.gpuCount)} × ${gpuType} ${kind} available now.`,
    fix: 'See all offers: millrace offers --all',
    exitCode: exitCodes.noCapacity,
  });
}

/** The cheapest available offer per GPU, the first among equals. Sizes between those listed are also valid. */
export function cheapestOption(options: readonly Option[], query: OfferQuery): Option | null {
  const fitting = options
    .filter(({ enabled, totalAvailable }) => enabled && totalAvailable > 0)
    .filter(({ gpuCount }) => gpuCount >= query.gpuCount)
    .filter(({ connectionType }) => query.network === undefined || connectionType === query.network);
  // a.cost / a.count < b.cost / b.count, without division.
  const [best] = fitting.toSorted((a, b) => a.costPerHour * b.gpuCount - b.costPerHour * a.gpuCount);
  return best ?? null;
}
