import type { Input, Item } from '@millrace/sdk';
import { parseUsd, usdText } from '@millrace/sdk/text';

/** Describes prices, and parses the price form. */

export type Price = Item<'adminListPrices'>;
export type Subject = Price['subject'];
type Unit = Input<'adminCreatePrice'>['unit'];

export function subjectText(subject: Subject): string {
  switch (subject.kind) {
    case 'gpu': {
      const where = subject.region ?? 'all regions';
      const network = subject.networkType == null ? '' : `, ${subject.networkType}`;
      return `${subject.gpuType}, ${subject.machineType.replaceAll('-', ' ')}, ${where}${network}`;
    }
    case 'volume':
      return `volume storage, ${subject.region ?? 'all regions'}`;
    case 'disk':
      return `disk while stopped, ${subject.region ?? 'all regions'}`;
    case 'model':
      return `${subject.model}, ${subject.unit.replaceAll('_', ' ')}`;
  }
}

const perUnit: Readonly<Record<string, string>> = {
  gpu_hour: 'per GPU-hour',
  gb_hour: 'per GB-hour',
  token: 'per token',
  million_tokens: 'per million tokens',
  image: 'per image',
  character: 'per character',
};

export function unitText(unit: string): string {
  return perUnit[unit] ?? `per ${unit.replaceAll('_', ' ')}`;
}

/** `$2.49 per GPU-hour`, exact to the nano-USD. */
export function priceText(price: Pick<Price, 'priceNanoUsd' | 'unit'>): string {
  return `${usdText(price.priceNanoUsd)} ${unitText(price.unit)}`;
}

export type PriceKind = 'gpu' | 'volume' | 'disk' | 'model';
const modelUnits = ['prompt_token', 'cached_prompt_token', 'completion_token', 'image', 'character'] as const;
type ModelUnit = (typeof modelUnits)[number];
export { modelUnits };

export interface PriceForm {
  readonly kind: PriceKind;
  readonly gpuType: string;
  readonly machineType: 'virtual-machine' | 'bare-metal';
  /** Empty: all regions. */
  readonly region: string;
  /** Empty: all networks. */
  readonly networkType: '' | 'ethernet' | 'infiniband';
  readonly model: string;
  readonly modelUnit: ModelUnit;
  /** Dollars as typed. */
  readonly amount: string;
}

export const emptyPriceForm: PriceForm = {
  kind: 'gpu',
  gpuType: 'h100',
  machineType: 'virtual-machine',
  region: '',
  networkType: '',
  model: '',
  modelUnit: 'prompt_token',
  amount: '',
};

/** Tokens are priced per million, because one token may cost less than a nano-USD. */
export function priceUnit(form: Pick<PriceForm, 'kind' | 'modelUnit'>): Unit {
  if (form.kind === 'gpu') return 'gpu_hour';
  if (form.kind === 'volume' || form.kind === 'disk') return 'gb_hour';
  if (form.modelUnit === 'image' || form.modelUnit === 'character') return form.modelUnit;
  return 'million_tokens';
}

export function toPriceSubject(form: PriceForm): Input<'adminCreatePrice'>['subject'] {
  const region = form.region.trim() === '' ? null : form.region.trim();
  switch (form.kind) {
    case 'gpu':
      return {
        kind: 'gpu',
        gpuType: form.gpuType.trim(),
        machineType: form.machineType,
        region,
        networkType: form.networkType === '' ? null : form.networkType,
      };
    case 'volume':
      return { kind: 'volume', region };
    case 'disk':
      return { kind: 'disk', region };
    case 'model':
      return { kind: 'model', model: form.model.trim(), unit: form.modelUnit };
  }
}

export function parsePrice(form: PriceForm): { readonly nano: bigint } | { readonly issue: string } {
  if (form.kind === 'gpu' && form.gpuType.trim() === '') return { issue: 'Enter a GPU type.' };
  if (form.kind === 'model' && form.model.trim() === '') return { issue: 'Enter a model.' };
  const nano = parseUsd(form.amount);
  if (nano === null) return { issue: 'Enter dollars with at most nine decimals, such as 2.49.' };
  return nano < 0n ? { issue: 'Enter a price of zero or more.' } : { nano };
}

/** The current list price of the form's subject. */
export function currentPrice(prices: readonly Price[], form: PriceForm): Price | undefined {
  const wanted = subjectText(toPriceSubject(form) as Subject);
  return prices.find((price) => price.organisationId === null && subjectText(price.subject) === wanted);
}
