import type { Input, Item } from '@millrace/sdk';
import { parseUsd, usdText, usdToNano } from '@millrace/sdk/text';

/** Describes prices, and parses the price form. */

export type Price = Item<'adminListPrices'>;
export type Subject = Price['subject'];
export type ModelModality = Item<'adminListModels'>['modality'];
export type NewPrice = Pick<Input<'adminCreatePrice'>, 'subject' | 'unit' | 'priceNanoUsd'>;
type Unit = NewPrice['unit'];

const machineTypes: Readonly<Record<string, string>> = {
  'virtual-machine': 'virtual machine',
  'bare-metal': 'bare metal',
};

export const machineTypeText = (machineType: string): string => machineTypes[machineType] ?? machineType;

const tokenUnits = ['prompt_token', 'cached_prompt_token', 'completion_token'] as const;
const modelUnits = [...tokenUnits, 'image', 'character'] as const;
export type ModelUnit = (typeof modelUnits)[number];

export const modelUnitLabels: Readonly<Record<ModelUnit, string>> = {
  prompt_token: 'input',
  cached_prompt_token: 'cached input',
  completion_token: 'output',
  image: 'image',
  character: 'speech',
};

/** Units by which a model of this type is sold. */
export function unitsOfModality(modality: ModelModality): readonly ModelUnit[] {
  if (modality === 'image') return ['image'];
  return modality === 'audio' ? ['character'] : tokenUnits;
}

export function subjectText(subject: Subject): string {
  switch (subject.kind) {
    case 'gpu': {
      const where = subject.region ?? 'all regions';
      const network = subject.networkType == null ? '' : `, ${subject.networkType}`;
      return `${subject.gpuType.toUpperCase()}, ${machineTypeText(subject.machineType)}, ${where}${network}`;
    }
    case 'volume':
      return `volume storage, ${subject.region ?? 'all regions'}`;
    case 'disk':
      return `disk while stopped, ${subject.region ?? 'all regions'}`;
    case 'model':
      return `${subject.model}, ${modelUnitLabels[subject.unit]}`;
  }
}

const perUnit: Readonly<Record<string, string>> = {
  gpu_hour: 'per GPU-hour',
  gb_hour: 'per GB-hour',
  million_tokens: 'per million tokens',
  image: 'per image (1024 x 1024, 25 steps)',
  character: 'per character',
};

const TOKENS_PER_MILLION = 1_000_000n;

/** Price as shown: tokens are always per million, also if the service stores the price of one token. */
export function shownPrice({ priceNanoUsd, unit }: Pick<Price, 'priceNanoUsd' | 'unit'>): {
  readonly nano: bigint;
  readonly per: string;
} {
  if (unit === 'token') return { nano: BigInt(priceNanoUsd) * TOKENS_PER_MILLION, per: 'per million tokens' };
  return { nano: BigInt(priceNanoUsd), per: perUnit[unit] ?? `per ${unit.replaceAll('_', ' ')}` };
}

/** The mean month: a twelfth of 8,760 hours. */
const HOURS_PER_MONTH = 730n;

/** Storage is priced per hour, but people compare it per month: `$0.10 per GB-month`, rounded; null for other prices. */
export function monthlyText({ priceNanoUsd, unit }: Pick<Price, 'priceNanoUsd' | 'unit'>): string | null {
  if (unit !== 'gb_hour') return null;
  const dollars = Number(BigInt(priceNanoUsd) * HOURS_PER_MONTH) * 1e-9;
  return `${usdText(usdToNano(Number(dollars.toFixed(4))))} per GB-month`;
}

/** `$2.49 per GPU-hour`, exact to the nano-USD. */
export function priceText(price: Pick<Price, 'priceNanoUsd' | 'unit'>): string {
  const { nano, per } = shownPrice(price);
  return `${usdText(nano)} ${per}`;
}

export type PriceKind = 'gpu' | 'volume' | 'disk' | 'model';

export interface PriceForm {
  readonly kind: PriceKind;
  readonly gpuType: string;
  readonly machineType: 'virtual-machine' | 'bare-metal';
  /** Empty: all regions. */
  readonly region: string;
  /** Empty: all networks. */
  readonly networkType: '' | 'ethernet' | 'infiniband';
  readonly model: string;
  /** Dollars as typed, of a machine or storage. */
  readonly amount: string;
  /** Dollars as typed, by unit of the model; empty: not set. */
  readonly modelAmounts: Readonly<Partial<Record<ModelUnit, string>>>;
}

export const emptyPriceForm: PriceForm = {
  kind: 'gpu',
  gpuType: 'h100',
  machineType: 'virtual-machine',
  region: '',
  networkType: '',
  model: '',
  amount: '',
  modelAmounts: {},
};

export function unitOfKind(kind: Exclude<PriceKind, 'model'>): Unit {
  return kind === 'gpu' ? 'gpu_hour' : 'gb_hour';
}

/** Tokens are priced per million, because one token may cost less than a nano-USD. */
export function unitOfModelUnit(unit: ModelUnit): Unit {
  return unit === 'image' || unit === 'character' ? unit : 'million_tokens';
}

export function toPriceSubject(form: PriceForm, unit: ModelUnit = 'prompt_token'): NewPrice['subject'] {
  const region = form.region === '' ? null : form.region;
  switch (form.kind) {
    case 'gpu': {
      const { gpuType, machineType } = form;
      const networkType = form.networkType === '' ? null : form.networkType;
      return { kind: 'gpu', gpuType, machineType, region, networkType };
    }
    case 'volume':
      return { kind: 'volume', region };
    case 'disk':
      return { kind: 'disk', region };
    case 'model':
      return { kind: 'model', model: form.model, unit };
  }
}

type Parsed = { readonly prices: readonly NewPrice[] } | { readonly issue: string };

function parseAmount(text: string): { readonly nano: bigint } | { readonly issue: string } {
  const nano = parseUsd(text);
  if (nano === null) return { issue: 'Enter dollars with at most nine decimals, such as 2.49.' };
  return nano < 0n ? { issue: 'Enter a price of zero or more.' } : { nano };
}

/** Prices that the form sets; a model has one for each unit that is filled in. */
export function parsePrices(form: PriceForm, modality: ModelModality = 'chat'): Parsed {
  if (form.kind !== 'model') {
    const read = parseAmount(form.amount);
    if ('issue' in read) return read;
    const unit = unitOfKind(form.kind);
    return { prices: [{ subject: toPriceSubject(form), unit, priceNanoUsd: read.nano.toString() }] };
  }
  if (form.model === '') return { issue: 'Choose a model.' };
  const prices: NewPrice[] = [];
  for (const unit of unitsOfModality(modality)) {
    const text = form.modelAmounts[unit]?.trim() ?? '';
    // Without a price of its own, cached input costs as much as other input.
    if (text === '' && unit === 'cached_prompt_token') continue;
    const read = parseAmount(text);
    if ('issue' in read) return { issue: `Price of ${modelUnitLabels[unit]}: ${read.issue}` };
    prices.push({
      subject: toPriceSubject(form, unit),
      unit: unitOfModelUnit(unit),
      priceNanoUsd: read.nano.toString(),
    });
  }
  return { prices };
}

/** The current list price of a subject. */
export function currentPrice(prices: readonly Price[], subject: NewPrice['subject']): Price | undefined {
  const wanted = subjectText(subject as Subject);
  return prices.find((price) => price.organisationId === null && subjectText(price.subject) === wanted);
}

/** Amount for a form field: dollars without the sign. */
export const amountText = (nano: bigint): string => usdText(nano).replace('$', '');

/** The form with the current prices of its model. */
export function withCurrentModelPrices(form: PriceForm, prices: readonly Price[]): PriceForm {
  const modelAmounts: Partial<Record<ModelUnit, string>> = {};
  for (const unit of modelUnits) {
    const price = currentPrice(prices, toPriceSubject({ ...form, kind: 'model' }, unit));
    if (price !== undefined) modelAmounts[unit] = amountText(shownPrice(price).nano);
  }
  return { ...form, modelAmounts };
}
