import type { ModelModality, ModelUnit, PriceForm, PriceKind } from './price-form.ts';

/** Example prices that fill in the price form. The operator checks and saves them; nothing applies them by itself. */

export interface PricePreset {
  readonly label: string;
  readonly change: Partial<PriceForm>;
}

const gpuPrices: readonly (readonly [gpuType: string, amount: string])[] = [
  ['h100', '2.49'],
  ['h200', '3.29'],
  ['b200', '4.99'],
];

export const presetGpuTypes: readonly string[] = gpuPrices.map(([gpuType]) => gpuType);

const gpuPresets: readonly PricePreset[] = gpuPrices.map(([gpuType, amount]) => ({
  label: `${gpuType.toUpperCase()} at $${amount}`,
  change: { gpuType, amount },
}));

const tokenPrices = (input: string, cached: string, output: string): Partial<Record<ModelUnit, string>> => ({
  prompt_token: input,
  cached_prompt_token: cached,
  completion_token: output,
});

const textModelPresets: readonly PricePreset[] = [
  { label: 'Up to 10B parameters', change: { modelAmounts: tokenPrices('0.05', '0.025', '0.10') } },
  { label: 'Up to 40B', change: { modelAmounts: tokenPrices('0.15', '0.075', '0.40') } },
  { label: 'Up to 100B', change: { modelAmounts: tokenPrices('0.40', '0.20', '0.80') } },
  { label: 'Larger', change: { modelAmounts: tokenPrices('1.00', '0.50', '3.00') } },
];

export function presetsFor(kind: PriceKind, modality: ModelModality): readonly PricePreset[] {
  switch (kind) {
    case 'gpu':
      return gpuPresets;
    case 'volume':
      return [{ label: '$0.0001', change: { amount: '0.0001' } }];
    case 'disk':
      return [{ label: '$0.00005', change: { amount: '0.00005' } }];
    case 'model':
      if (modality === 'image') return [{ label: '$0.02', change: { modelAmounts: { image: '0.02' } } }];
      if (modality === 'audio')
        return [{ label: '$0.000015', change: { modelAmounts: { character: '0.000015' } } }];
      return textModelPresets;
  }
}
