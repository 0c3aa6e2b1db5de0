import type { ResponseBody, Contract } from '@millrace/contract';
import { fromUsdNumber } from '@millrace/platform/money';
import type { PublicModel } from '../inference/index.ts';
import type { GpuSummary } from '../marketplace/index.ts';

type Catalog = ResponseBody<Contract['operations']['getCatalog']>;

/** Only the prices of the model's modality: an image model has no token price. */
export function toWireCatalogModel({ model, price }: PublicModel): Catalog['models'][number] {
  const { modality } = model;
  const isByToken = modality === 'chat' || modality === 'completion';
  return {
    name: model.name,
    ownedBy: model.ownedBy,
    modality,
    inputModalities: [...model.inputModalities],
    contextLength: model.contextLength,
    maxOutputTokens: model.maxOutputTokens,
    promptNanoUsdPerMillionTokens: isByToken ? price.promptNanoUsdPerMillion : null,
    cachedPromptNanoUsdPerMillionTokens: isByToken ? price.cachedPromptNanoUsdPerMillion : null,
    completionNanoUsdPerMillionTokens: isByToken ? price.completionNanoUsdPerMillion : null,
    imageNanoUsd: modality === 'image' ? price.imageNanoUsd : null,
    characterNanoUsd: modality === 'audio' ? price.characterNanoUsd : null,
  };
}

type WireGpu = NonNullable<Catalog['marketplace']>[number];

export function toWireMarketplaceGpu({ gpuModel, machines, gpusFree, lowestPrice }: GpuSummary): WireGpu {
  const exact = lowestPrice === null ? null : fromUsdNumber(lowestPrice);
  return {
    gpuModel,
    machineCount: machines,
    gpusFree,
    lowestPricePerGpuHour: lowestPrice,
    lowestPricePerGpuHourNanoUsd: exact === null ? null : String(exact),
  };
}
