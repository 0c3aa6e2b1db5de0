import type { Input } from '@millrace/sdk';
import { nanoOf } from '@millrace/sdk/text';
import { oneOf, present, textOf } from '../../app/search.ts';
import { shellQuoted } from '../playground/code.ts';

/** What is looked for on the marketplace, as the address of the page says it. */
export interface MachineSearch {
  readonly gpu?: string;
  /** So many GPUs free at least. */
  readonly gpus?: string;
  /** USD for a GPU and hour, as it was typed. */
  readonly max?: string;
  readonly region?: string;
  readonly supplier?: string;
  /** Also those that are taken or not ready. */
  readonly all?: 'yes';
  readonly sort?: MachineSort;
}

export const machineSorts = ['price', 'free', 'memory', 'download'] as const;
export type MachineSort = (typeof machineSorts)[number];

export function readMachineSearch(search: Readonly<Record<string, unknown>>): MachineSearch {
  return present({
    gpu: textOf(search['gpu']),
    gpus: textOf(search['gpus']),
    max: textOf(search['max']),
    region: textOf(search['region']),
    supplier: textOf(search['supplier']),
    all: oneOf(search['all'], ['yes']),
    sort: oneOf(search['sort'], machineSorts),
  });
}

export interface InstanceSearch {
  readonly view?: 'history';
}

export function readInstanceSearch(search: Readonly<Record<string, unknown>>): InstanceSearch {
  return present({ view: oneOf(search['view'], ['history']) });
}

/** Where test mode has its machines; they are shown to those who ask for this region, and to nobody else. */
export const testRegion = 'mock-region';

type Ask = Input<'listMarketplaceMachines'>;

const orders: Readonly<Record<MachineSort, NonNullable<Ask['sort']>>> = {
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

/** What is wrong with what was typed, field by field. */
export function searchIssues({ gpus, max }: MachineSearch): {
  readonly gpus?: string;
  readonly max?: string;
} {
  return {
    ...(gpus !== undefined && !/^[1-9]\d{0,3}$/.test(gpus) && { gpus: 'A whole number from 1.' }),
    ...(max !== undefined && priceOf(max) === null && { max: 'An amount such as 2.50.' }),
  };
}

function priceOf(text: string): bigint | null {
  const nano = nanoOf(text);
  return nano === null || nano < 0n ? null : nano;
}

/** What the service is asked; what is not right is left out until it is. */
export function machineAsk(search: MachineSearch, mode: 'live' | 'test'): Pick<Ask, 'filters' | 'sort'> {
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
    sort: orders[sort],
  };
}

/** The same at a terminal. */
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
