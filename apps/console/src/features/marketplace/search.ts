import type { Input } from '@millrace/sdk';
import { parseUsd } from '@millrace/sdk/text';
import { enumParam, definedParams, textParam } from '../../app/search-params.ts';
import { shellQuoted } from '../playground/snippets.ts';

/** Marketplace filters, stored in the URL. Lists are separated by commas. */
export interface MachineSearch {
  readonly gpu?: string;
  readonly region?: string;
  readonly supplier?: string;
  /** Minimum number of available GPUs. */
  readonly gpus?: string;
  /** USD per GPU-hour, as typed. */
  readonly min?: string;
  readonly max?: string;
  /** Include machines that are rented or not ready. */
  readonly all?: 'yes';
  readonly sort?: MachineSort;
}

export const machineSorts = ['price', 'value', 'free', 'memory', 'download'] as const;
export type MachineSort = (typeof machineSorts)[number];

export function parseMachineSearch(search: Readonly<Record<string, unknown>>): MachineSearch {
  return definedParams({
    gpu: textParam(search['gpu']),
    region: textParam(search['region']),
    supplier: textParam(search['supplier']),
    gpus: textParam(search['gpus']),
    min: textParam(search['min']),
    max: textParam(search['max']),
    all: enumParam(search['all'], ['yes']),
    sort: enumParam(search['sort'], machineSorts),
  });
}

export function listParam(text: string | undefined): readonly string[] {
  return (text ?? '').split(',').filter((value) => value !== '');
}

/** The list with the value added, or removed if it was in it; undefined if nothing is left. */
export function toggleInList(text: string | undefined, value: string): string | undefined {
  const before = listParam(text);
  const after = before.includes(value) ? before.filter((each) => each !== value) : [...before, value];
  return after.length === 0 ? undefined : after.join(',');
}

export interface InstanceSearch {
  readonly view?: 'history';
}

export function parseInstanceSearch(search: Readonly<Record<string, unknown>>): InstanceSearch {
  return definedParams({ view: enumParam(search['view'], ['history']) });
}

/** Region of the test machines, which are listed only if a request names it. */
export const testRegion = 'mock-region';

type ListMachinesInput = Input<'listMarketplaceMachines'>;

const byPrice = { field: 'pricing.price.amount', dir: 'asc' } as const;

/** The API cannot sort by value, so `groupMachines` does. */
const apiSorts: Readonly<Record<MachineSort, NonNullable<ListMachinesInput['sort']>>> = {
  price: [byPrice],
  value: [byPrice],
  free: [{ field: 'gpus_total', dir: 'desc' }, byPrice],
  memory: [{ field: 'hardware.gpus.ram', dir: 'desc' }, byPrice],
  download: [{ field: 'network.bandwidth_mbps_down', dir: 'desc' }, byPrice],
};

type PriceField = 'min' | 'max';

/** Validation messages by field. */
export function searchIssues(search: MachineSearch): { readonly [Field in PriceField]?: string } {
  const issues: { [Field in PriceField]?: string } = {};
  for (const field of ['min', 'max'] as const) {
    const text = search[field];
    if (text !== undefined && parsePrice(text) === null) issues[field] = 'Enter an amount such as 2.50.';
  }
  return issues;
}

function parsePrice(text: string): bigint | null {
  const nano = parseUsd(text);
  return nano === null || nano < 0n ? null : nano;
}

/** In USD, as the API expects it; undefined if it is empty or invalid. */
function priceOf(text: string | undefined): number | undefined {
  if (text === undefined || parsePrice(text) === null) return undefined;
  return Number(text.replaceAll(/[$,]/g, ''));
}

function oneOrMore(text: string | undefined): string | { in: string[] } | undefined {
  const values = listParam(text);
  return values.length > 1 ? { in: [...values] } : values[0];
}

/** The API request; invalid values are left out. */
export function toListInput(
  search: MachineSearch,
  mode: 'live' | 'test',
): Pick<ListMachinesInput, 'filters' | 'sort'> {
  const { gpus, all, sort = 'price' } = search;
  const min = priceOf(search.min);
  return {
    filters: {
      ...definedParams({
        gpu_model: oneOrMore(search.gpu),
        region: mode === 'test' ? testRegion : oneOrMore(search.region),
        supplier_id: oneOrMore(search.supplier),
        max_price: priceOf(search.max),
      }),
      ...(gpus !== undefined && isCount(gpus) && { min_gpus_available: Number(gpus) }),
      ...(min !== undefined && { 'pricing.price.amount': { gte: min } }),
      ...(all === undefined && { available: true }),
    },
    sort: apiSorts[sort],
  };
}

function isCount(text: string): boolean {
  return /^[1-9]\d{0,3}$/.test(text);
}

/** Values of a list can be given to the command one at a time only, so longer lists are left out. */
export function machinesCommand(search: MachineSearch): string {
  const { gpus, max, all } = search;
  const [gpu, region] = [oneOrMore(search.gpu), oneOrMore(search.region)];
  return [
    'millrace market list',
    ...(typeof gpu === 'string' ? [`--gpu ${shellQuoted(gpu)}`] : []),
    ...(gpus !== undefined && isCount(gpus) ? [`--gpus ${gpus}`] : []),
    ...(max !== undefined && parsePrice(max) !== null ? [`--max-price ${shellQuoted(max)}`] : []),
    ...(typeof region === 'string' ? [`--region ${shellQuoted(region)}`] : []),
    ...(all === undefined ? [] : ['--all']),
  ].join(' ');
}
