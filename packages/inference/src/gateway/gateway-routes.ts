import { randomInt } from 'node:crypto';
import type { ContractSchemas } from '@millrace/contract';
import { createMediaOperations } from './media/media-operations.ts';
import { serveMedia } from './media/media-execution.ts';
import { serveModelPrice, serveModels } from './model-routes.ts';
import type { GatewayDeps } from './gateway-deps.ts';
import type { GatewayRequest, GatewayRoute } from './http/server.ts';
import { RouteMetrics } from './http/request-metrics.ts';
import { chatOperation, completionOperation } from './text/text-operations.ts';
import { serveText } from './text/serve-text.ts';

function at(path: string): Pick<GatewayRoute, 'path' | 'metrics'> {
  return { path, metrics: new RouteMetrics(path) };
}

export function gatewayRoutes(
  deps: GatewayDeps,
  schemas: Pick<ContractSchemas, 'chatRequest'>,
): readonly GatewayRoute[] {
  const chat = chatOperation(schemas);
  const seeds = { clock: deps.clock, randomSeed: () => randomInt(2 ** 31) };
  const { generateImage, createImages, generateAudio, createSpeech } = createMediaOperations(seeds);
  const write = { method: 'POST', scope: 'inference:write' } as const;
  const read = { method: 'GET', scope: 'inference:read' } as const;
  const price = {
    ...read,
    metrics: new RouteMetrics('/v1/models/{model}/price'),
    serve: (request: GatewayRequest) => serveModelPrice(deps, request),
  };
  return [
    { ...write, ...at('/v1/chat/completions'), serve: (request) => serveText(deps, chat, request) },
    { ...write, ...at('/v1/completions'), serve: (request) => serveText(deps, completionOperation, request) },
    { ...write, ...at('/v1/image/generation'), serve: (inbound) => serveMedia(deps, generateImage, inbound) },
    {
      ...write,
      ...at('/v1/images/generations'),
      serve: (inbound) => serveMedia(deps, createImages, inbound),
    },
    { ...write, ...at('/v1/audio/generation'), serve: (inbound) => serveMedia(deps, generateAudio, inbound) },
    { ...write, ...at('/v1/audio/speech'), serve: (inbound) => serveMedia(deps, createSpeech, inbound) },
    { ...read, ...at('/v1/models'), serve: (request) => serveModels(deps, request) },
    { ...price, path: /^\/models\/([^/]+)\/price$/ },
    { ...price, path: /^\/v1\/models\/([^/]+)\/price$/ },
  ];
}
