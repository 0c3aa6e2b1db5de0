import type { Context } from '../framework/context.ts';
import type { Flags } from '../framework/command.ts';
import { CliError } from '../framework/errors.ts';
import { exitCodes } from '../framework/exit-codes.ts';
import type { Output, Input } from '../sdk.ts';

/** What somebody wants to rent, in flags: the same words for offers, quotes, explanations and orders. */

export type QuoteRequest = Input<'quoteRental'>;
type Option = Output<'listRentalOptions'>['items'][number];

export const quoteFlags = {
  gpu: { type: 'text', value: 'TYPE', default: 'h100', describe: 'the GPUs: h100, h200, b200 …' },
  count: {
    type: 'number',
    integer: true,
    min: 1,
    value: 'N',
    describe: 'how many GPUs; without it 1, or 8 of bare metal',
  },
  region: { type: 'text', value: 'REGION', describe: 'where; by default where it is cheapest now' },
  network: {
    type: 'text',
    value: 'KIND',
    choices: ['ethernet', 'infiniband'],
    describe: 'how machines are connected',
  },
  'bare-metal': { type: 'boolean', describe: 'whole nodes with nobody else on them, in eights of GPUs' },
  cuda: { type: 'text', value: 'VERSION', describe: 'the CUDA that must be supported at least: cuda12.8' },
  days: {
    type: 'number',
    integer: true,
    min: 1,
    value: 'N',
    describe: 'reserve for so many days, see: millrace reserve list',
  },
  discount: {
    type: 'number',
    min: 0,
    max: 100,
    value: 'PERCENT',
    describe: 'a discount that your contract grants',
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
 * The wish as the API takes it. What is not said is filled in here and shown before anybody agrees to it. Words are checked by
 * the API, so that an older command line can rent what a newer installation has.
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
  // The person has said where; whether it can be had there is for the API to say.
  if (region !== undefined) return { region, network: wanted.network ?? 'ethernet' };
  const kind = machineType === 'bare-metal' ? 'of bare metal' : 'in one virtual machine';
  throw new CliError('There is nothing to rent like that.', {
    why: `No region has ${String(wanted.gpuCount)} × ${gpuType} ${kind} free now.`,
    fix: 'See what there is: millrace offers --all',
    exitCode: exitCodes.noCapacity,
  });
}

/** Of what fits now the cheapest by the GPU, the first in the list among equals. Sizes between those listed can be had too. */
export function cheapestOption(options: readonly Option[], query: OfferQuery): Option | null {
  const fitting = options
    .filter(({ enabled, totalAvailable }) => enabled && totalAvailable > 0)
    .filter(({ gpuCount }) => gpuCount >= query.gpuCount)
    .filter(({ connectionType }) => query.network === undefined || connectionType === query.network);
  // a.cost / a.count < b.cost / b.count, without the division.
  const [best] = fitting.toSorted((a, b) => a.costPerHour * b.gpuCount - b.costPerHour * a.gpuCount);
  return best ?? null;
}
