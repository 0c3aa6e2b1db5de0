import type { Input, Item } from '@millrace/sdk';
import { parseUsd, usdText } from '@millrace/sdk/text';

/** Entries of the price book in words, and what a form says as an entry. */

export type Price = Item<'adminListPrices'>;
export type Subject = Price['subject'];
type Unit = Input<'adminCreatePrice'>['unit'];

export function subjectText(subject: Subject): string {
  switch (subject.kind) {
    case 'gpu': {
      const where = subject.region ?? 'every region';
      const network = subject.networkType == null ? '' : `, ${subject.networkType}`;
      return `${subject.gpuType}, ${subject.machineType.replaceAll('-', ' ')}, ${where}${network}`;
    }
    case 'volume':
      return `volume storage, ${subject.region ?? 'every region'}`;
    case 'disk':
      return `disk while stopped, ${subject.region ?? 'every region'}`;
    case 'model':
      return `${subject.model}, ${subject.unit.replaceAll('_', ' ')}`;
  }
}

const perUnit: Readonly<Record<string, string>> = {
  gpu_hour: 'for one GPU and hour',
  gb_hour: 'for one GB and hour',
  token: 'for one token',
  million_tokens: 'for a million tokens',
  image: 'for one image',
  character: 'for one character',
};

export function unitText(unit: string): string {
  return perUnit[unit] ?? `for one ${unit.replaceAll('_', ' ')}`;
}

/** `$2.49 for one GPU and hour`, to the last nano-dollar. */
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
  /** Empty: every region. */
  readonly region: string;
  /** Empty: every network. */
  readonly networkType: '' | 'ethernet' | 'infiniband';
  readonly model: string;
  readonly modelUnit: ModelUnit;
  /** In dollars, as it was typed. */
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

/** Tokens are priced by the million: one of them may cost less than a nano-dollar. */
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

/** The exact price, or why it is none. */
export function parsePrice(form: PriceForm): { readonly nano: bigint } | { readonly issue: string } {
  if (form.kind === 'gpu' && form.gpuType.trim() === '') return { issue: 'Say which GPU.' };
  if (form.kind === 'model' && form.model.trim() === '') return { issue: 'Say which model.' };
  const nano = parseUsd(form.amount);
  if (nano === null)
    return { issue: 'The price must be an amount in dollars with at most nine decimals, such as 2.49.' };
  return nano < 0n ? { issue: 'A price is not below zero.' } : { nano };
}

/** What is being sold now and what a change would make of it, for the subject of the form. */
export function currentPrice(prices: readonly Price[], form: PriceForm): Price | undefined {
  const wanted = subjectText(toPriceSubject(form) as Subject);
  return prices.find((price) => price.organisationId === null && subjectText(price.subject) === wanted);
}
