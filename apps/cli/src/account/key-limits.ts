import { UsageError } from '../framework/errors.ts';
import type { Flags } from '../framework/command.ts';
import type { Input } from '../sdk.ts';

type Limits = NonNullable<Input<'createApiKey'>['limits']>;
type Budget = NonNullable<Limits['budget']>;

export const keyLimitFlags = {
  'max-usd-per-hour': {
    type: 'number',
    min: 0,
    value: 'USD',
    describe: 'maximum total cost of its rentals per hour',
  },
  'max-live-rentals': {
    type: 'number',
    integer: true,
    min: 0,
    value: 'N',
    describe: 'maximum number of rentals at a time',
  },
  budget: {
    type: 'text',
    value: 'USD/PERIOD',
    describe: 'spending limit, such as 50/day or 20/total',
  },
  rpm: { type: 'number', integer: true, min: 1, value: 'N', describe: 'requests per minute' },
  tpm: { type: 'number', integer: true, min: 1, value: 'N', describe: 'tokens per minute' },
  model: { type: 'list', value: 'MODEL', describe: 'only these models; * matches anything' },
  region: { type: 'list', value: 'REGION', describe: 'only these regions' },
  gpu: { type: 'list', value: 'GPU', describe: 'only these GPU types' },
} as const satisfies Flags;

export interface KeyLimitFlags {
  readonly 'max-usd-per-hour': number | undefined;
  readonly 'max-live-rentals': number | undefined;
  readonly budget: string | undefined;
  readonly rpm: number | undefined;
  readonly tpm: number | undefined;
  readonly model: readonly string[];
  readonly region: readonly string[];
  readonly gpu: readonly string[];
}

export function parseKeyLimits(flags: KeyLimitFlags): Limits {
  const limits = {
    maxUsdPerHour: flags['max-usd-per-hour'],
    maxLiveRentals: flags['max-live-rentals'],
    ...(flags.budget === undefined ? {} : { budget: parseKeyBudget(flags.budget) }),
    rpm: flags.rpm,
    tpm: flags.tpm,
    ...(flags.model.length === 0 ? {} : { models: [...flags.model] }),
    ...(flags.region.length === 0 ? {} : { regions: [...flags.region] }),
    ...(flags.gpu.length === 0 ? {} : { gpuTypes: [...flags.gpu] }),
  };
  // The API validates regions and GPUs, because a list here would become outdated.
  return limits as Limits;
}

const budgetPattern = /^(?<usd>\d+(?:\.\d{1,9})?)\/(?<period>hour|day|week|month|total)$/;

function parseKeyBudget(typed: string): Budget {
  const { usd, period } = budgetPattern.exec(typed)?.groups ?? {};
  if (usd === undefined || period === undefined) {
    throw new UsageError(
      `--budget is ${JSON.stringify(typed)}; use AMOUNT/PERIOD, such as 50/day, with hour, day, week, month or total.`,
    );
  }
  return { usd: Number(usd), period: period as Budget['period'] };
}
