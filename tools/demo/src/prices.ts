import type { Call } from './cloud.ts';
import type { PricedModel } from './usage.ts';

/** The price list of the demo, in USD as operators publish it. */

const gpuHourUsd = {
  'virtual-machine': { h100: 2.49, h200: 3.29, b200: 5.19 },
  'bare-metal': { h100: 2.29, h200: 3.09, b200: 4.79 },
} as const;
const DISK_GB_MONTH_USD = 0.08;
const VOLUME_GB_MONTH_USD = 0.1;
const HOURS_OF_MONTH = 730;

interface ModelOffer {
  readonly name: string;
  readonly ownedBy: string;
  readonly contextLength: number;
  /** USD for a million tokens. */
  readonly inputUsd: number;
  readonly outputUsd: number;
}

export const modelOffers: readonly ModelOffer[] = [
  { name: 'millrace-tiny', ownedBy: 'millrace', contextLength: 1_024, inputUsd: 1, outputUsd: 5 },
  {
    name: 'meta-llama/Llama-3.3-70B-Instruct',
    ownedBy: 'meta-llama',
    contextLength: 131_072,
    inputUsd: 0.6,
    outputUsd: 0.8,
  },
  { name: 'Qwen/Qwen3-32B', ownedBy: 'Qwen', contextLength: 40_960, inputUsd: 0.15, outputUsd: 0.45 },
  {
    name: 'deepseek-ai/DeepSeek-V3.1',
    ownedBy: 'deepseek-ai',
    contextLength: 163_840,
    inputUsd: 0.5,
    outputUsd: 1.6,
  },
];

const NANO = 1_000_000_000;
const nanoText = (usd: number): string => String(Math.round(usd * NANO));

export async function publishPrices(operator: Call, validFrom: string): Promise<readonly PricedModel[]> {
  const price = (subject: object, unit: string, priceNanoUsd: string): Promise<{ id: string }> =>
    operator('POST', '/v2/admin/prices', {
      subject,
      unit,
      priceNanoUsd,
      validFrom,
      reason: 'Price list of the demo',
    });
  for (const [machineType, gpus] of Object.entries(gpuHourUsd)) {
    for (const [gpuType, usd] of Object.entries(gpus)) {
      await price({ kind: 'gpu', gpuType, machineType, region: null }, 'gpu_hour', nanoText(usd));
    }
  }
  await price({ kind: 'disk', region: null }, 'gb_hour', nanoText(DISK_GB_MONTH_USD / HOURS_OF_MONTH));
  await price({ kind: 'volume', region: null }, 'gb_hour', nanoText(VOLUME_GB_MONTH_USD / HOURS_OF_MONTH));
  const models: PricedModel[] = [];
  for (const { name, ownedBy, contextLength, inputUsd, outputUsd } of modelOffers) {
    await operator('POST', '/v2/admin/models', {
      name,
      modality: 'chat',
      contextLength,
      maxOutputTokens: Math.min(contextLength, 8_192),
      ownedBy,
    });
    // A million tokens for one USD is 1 000 nano-USD for a token.
    const perToken = (usd: number): bigint => BigInt(Math.round(usd * 1_000));
    const of = (unit: string, amount: bigint): Promise<{ id: string }> =>
      price({ kind: 'model', model: name, unit }, 'token', String(amount));
    const input = await of('prompt_token', perToken(inputUsd));
    await of('cached_prompt_token', perToken(inputUsd) / 10n);
    const output = await of('completion_token', perToken(outputUsd));
    models.push({
      name,
      input: { id: input.id, perTokenNanoUsd: perToken(inputUsd) },
      output: { id: output.id, perTokenNanoUsd: perToken(outputUsd) },
    });
  }
  for (const [termPeriodDays, discountPercentage] of [
    [30, 10],
    [90, 18],
  ]) {
    await operator('POST', '/v2/admin/reserve-options', {
      ...{ machineType: 'virtual-machine', gpuType: 'h100', region: null },
      ...{
        termPeriodDays,
        discountPercentage,
        earlyTerminationRefundPercentage: 50,
        reason: 'Terms of the demo',
      },
    });
  }
  return models;
}
