import type { Input } from '@millrace/sdk';
import { parseUsd } from '@millrace/sdk/text';
import { enumParam, definedParams, textParam } from '../../app/search-params.ts';
import { shellQuoted } from '../playground/snippets.ts';

/** Marketplace filters, stored in the URL. */
export interface MachineSearch {
  readonly gpu?: string;
  /** Minimum number of available GPUs. */
  readonly gpus?: string;
  /** USD per GPU-hour, as typed. */
  readonly max?: string;
  readonly region?: string;
  readonly supplier?: string;
  /** Include machines that are rented or not ready. */
  readonly all?: 'yes';
  readonly sort?: MachineSort;
}

export const machineSorts = ['price', 'free', 'memory', 'download'] as const;
export type MachineSort = (typeof machineSorts)[number];

export function parseMachineSearch(search: Readonly<Record<string, unknown>>): MachineSearch {
  return definedParams({
    gpu: textParam(search['gpu']),
    gpus: textParam(search['gpus']),
    max: textParam(search['max']),
    region: textParam(search['region']),
    supplier: textParam(search['supplier']),
    all: enumParam(search['all'], ['yes']),
    sort: enumParam(search['sort'], machineSorts),
  });
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

const apiSorts: Readonly<Record<MachineSort, NonNullable<ListMachinesInput['sort']>>> = {
  price: [{ field: 'pricing.price.amount', dir: 'asc' }],
  free: [
    { field: 'gpus_total', dir: 'desc' },
    { field: 'pricing.price.amount', dir: 'asc' },
  ],
  memory: [
    { field: 'hardware.gpus.ram', dir: 'desc' },
    { field: 'pricing.price.amount', dir: 'asc' },
  ],
  download: [
    { field: 'network.bandwidth_mbps_down', dir: 'desc' },
    { field: 'pricing.price.amount', dir: 'asc' },
  ],
};

/** Validation messages by field. */
export function searchIssues({ gpus, max }: MachineSearch): {
  readonly gpus?: string;
  readonly max?: string;
} {
  return {
    ...(gpus !== undefined && !/^[1-9]\d{0,3}$/.test(gpus) && { gpus: 'Enter a whole number of 1 or more.' }),
    ...(max !== undefined && parsePrice(max) === null && { max: 'Enter an amount such as 2.50.' }),
  };
}

function parsePrice(text: string): bigint | null {
  const nano = parseUsd(text);
  return nano === null || nano < 0n ? null : nano;
}

/** The API request; invalid values are left out. */
export function toListInput(
  search: MachineSearch,
  mode: 'live' | 'test',
): Pick<ListMachinesInput, 'filters' | 'sort'> {
  const issues = searchIssues(search);
  const { gpu, gpus, max, supplier, all, sort = 'price' } = search;
  const region = mode === 'test' ? testRegion : search.region;
  return {
    filters: {
      ...(gpu !== undefined && { gpu_model: gpu }),
      ...(gpus !== undefined && issues.gpus === undefined && { min_gpus_available: Number(gpus) }),
      ...(max !== undefined &&
        issues.max === undefined && { max_price: Number(max.replaceAll(/[$,]/g, '')) }),
      ...(region !== undefined && { region }),
      ...(supplier !== undefined && { supplier_id: supplier }),
      ...(all === undefined && { available: true }),
    },
    sort: apiSorts[sort],
  };
}

export function machinesCommand(search: MachineSearch): string {
  const { gpu, gpus, max, region, all } = search;
  const issues = searchIssues(search);
  return [
    'millrace market list',
    ...(gpu === undefined ? [] : [`--gpu ${shellQuoted(gpu)}`]),
    ...(gpus === undefined || issues.gpus !== undefined ? [] : [`--gpus ${gpus}`]),
    ...(max === undefined || issues.max !== undefined ? [] : [`--max-price ${shellQuoted(max)}`]),
    ...(region === undefined ? [] : [`--region ${shellQuoted(region)}`]),
    ...(all === undefined ? [] : ['--all']),
  ].join(' ');
}
