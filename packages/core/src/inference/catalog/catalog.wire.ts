import type { ResponseBody, Contract } from '@millrace/contract';
import type { Deployment, Model } from './catalog.ts';

/** Converts values of the catalog to API responses. */

type Operations = Contract['operations'];

export function toWireModel(model: Model): ResponseBody<Operations['adminCreateModel']> {
  return {
    name: model.name,
    mode: model.mode,
    modality: model.modality,
    contextLength: model.contextLength,
    maxOutputTokens: model.maxOutputTokens,
    inputModalities: [...model.inputModalities],
    ownedBy: model.ownedBy,
    enabled: model.enabled,
    aliases: [...model.aliases],
    fallbacks: [...model.fallbacks],
    visibleTo: model.visibleTo === null ? null : [...model.visibleTo],
    requestsPerMinute: model.requestsPerMinute,
    createdAt: model.createdAt.toISOString(),
    updatedAt: model.updatedAt.toISOString(),
  };
}

export function toWireDeployment(deployment: Deployment): ResponseBody<Operations['adminCreateDeployment']> {
  return {
    id: deployment.id,
    model: deployment.model,
    engine: deployment.engine,
    address: deployment.address,
    upstreamModel: deployment.upstreamModel,
    region: deployment.region,
    weight: deployment.weight,
    maxConcurrency: deployment.maxConcurrency,
    enabled: deployment.enabled,
    hasApiKey: deployment.sealedApiKey !== null,
    health: deployment.health,
    healthSince: deployment.healthSince.toISOString(),
    createdAt: deployment.createdAt.toISOString(),
    updatedAt: deployment.updatedAt.toISOString(),
  };
}
