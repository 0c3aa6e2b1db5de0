/** Catalog filters, stored in the URL so that they survive a reload and can be shared. */

export type MachineType = 'virtual-machine' | 'bare-metal';
export type Sort = 'price' | 'free' | 'region';

export interface Filters {
  readonly gpu?: string;
  readonly region?: string;
  readonly type?: MachineType;
  /** Exact number of GPUs. */
  readonly count?: number;
  readonly available?: true;
  /** Default: price per GPU. */
  readonly sort?: Exclude<Sort, 'price'>;
}

/** A GPU type or region. The service may add new ones, so they are not listed here. */
const slugPattern = /^[a-z0-9][a-z0-9-]{0,62}$/;

export function slugParam(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.toLowerCase() : '';
  return slugPattern.test(text) ? text : undefined;
}

export function integerParam(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,6}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= 1 && number <= 100_000
    ? number
    : undefined;
}

export function machineTypeParam(value: unknown): MachineType | undefined {
  return value === 'virtual-machine' || value === 'bare-metal' ? value : undefined;
}

/** Reads filters from the URL; drops defaults and invalid values. */
export function parseFilters(search: Readonly<Record<string, unknown>>): Filters {
  const { available, sort } = search;
  const gpu = slugParam(search['gpu']);
  const region = slugParam(search['region']);
  const type = machineTypeParam(search['type']);
  const count = integerParam(search['count']);
  return {
    ...(gpu !== undefined && { gpu }),
    ...(region !== undefined && { region }),
    ...(type !== undefined && { type }),
    ...(count !== undefined && { count }),
    ...((available === true || available === 'true') && { available: true as const }),
    ...((sort === 'free' || sort === 'region') && { sort }),
  };
}

/** Whether offers may be hidden; the sort order hides none. */
export function hasActiveFilters({ gpu, region, type, count, available }: Filters): boolean {
  return [gpu, region, type, count, available].some((each) => each !== undefined);
}

const cliLimit = 10;

/** CLI command for the same list. By default the CLI omits sold-out offers and shows ten. */
export function offersCommand({ gpu, region, type, count, available }: Filters, shown: number): string {
  return [
    'millrace offers',
    gpu === undefined ? '' : `--gpu ${gpu}`,
    count === undefined ? '' : `--count ${String(count)}`,
    region === undefined ? '' : `--region ${region}`,
    type === undefined ? '' : `--type ${type}`,
    available === true ? '' : '--all',
    shown > cliLimit ? `--limit ${String(shown)}` : '',
  ]
    .filter((part) => part !== '')
    .join(' ');
}
