import type { ResponseBody, Contract } from '@millrace/contract';
import type { KeyEntry, ModelEntry } from '@millrace/core/inference';
import type { FrozenModelPrice } from '@millrace/core/prices';
import { msToSecondsRoundDown } from '@millrace/platform/money';
import { mayUseModel } from './model-catalog.ts';

/** Converts models to their API representation. */

type ModelList = ResponseBody<Contract['operations']['listModels']>;
type ModelPrice = ResponseBody<Contract['operations']['getModelPrice']>;

export function toWireModelList(models: readonly ModelEntry[], key: Pick<KeyEntry, 'models'>): ModelList {
  return { object: 'list', data: models.filter((model) => mayUseModel(key, model)).map(toWireModel) };
}

function toWireModel(model: ModelEntry): ModelList['data'][number] {
  return {
    id: model.name,
    object: 'model',
    created: msToSecondsRoundDown(model.createdAtMs),
    owned_by: model.ownedBy,
    modality: model.modality,
    context_length: model.contextLength,
    max_output_tokens: model.maxOutputTokens,
    input_modalities: [...model.inputModalities],
  };
}

/** `livePrice`: in test mode, which is free, the price of live mode; otherwise null. */
export function toWireModelPrice(
  model: ModelEntry,
  price: FrozenModelPrice,
  livePrice: FrozenModelPrice | null,
): ModelPrice {
  const { name, modality } = model;
  const live = livePrice === null ? null : unitPrices(modality, livePrice);
  const hasLivePrice = Object.values(live ?? {}).some((price) => price !== null);
  return {
    model: name,
    currency: 'usd',
    modality,
    ...unitPrices(modality, price),
    ...(live !== null && hasLivePrice ? { live } : {}),
  };
}

/** Only prices of the model's unit: an image model has no token price. */
function unitPrices(
  modality: ModelEntry['modality'],
  price: FrozenModelPrice,
): NonNullable<ModelPrice['live']> {
  const isByToken = modality === 'chat' || modality === 'completion';
  const tokens = (perMillion: string | null): number | null =>
    isByToken && perMillion !== null ? Number(perMillion) : null;
  return {
    prompt_nano_usd_per_million_tokens: tokens(price.promptNanoUsdPerMillion),
    cached_prompt_nano_usd_per_million_tokens: tokens(price.cachedPromptNanoUsdPerMillion),
    completion_nano_usd_per_million_tokens: tokens(price.completionNanoUsdPerMillion),
    image_nano_usd: modality === 'image' ? Number(price.imageNanoUsd) : null,
    character_nano_usd: modality === 'audio' ? Number(price.characterNanoUsd) : null,
  };
}
