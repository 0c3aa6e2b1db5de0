import { randomInt } from 'node:crypto';
import type { ContractSchemas } from '@millrace/contract';
import { createMediaOperations } from '../wire/media-operations.ts';
import { serveMedia } from './media-execution.ts';
import { serveModelPrice, serveModels } from './model-routes.ts';
import type { GatewayDeps } from './gateway-deps.ts';
import type { GatewayRequest, GatewayRoute } from './http/server.ts';
import { chatOperation, completionOperation } from './text/text-operations.ts';
import { serveText } from './text/serve-text.ts';

/** The operations of the contract that a gateway serves. */
export function gatewayRoutes(
  parts: GatewayDeps,
  schemas: Pick<ContractSchemas, 'chatRequest'>,
): readonly GatewayRoute[] {
  const chat = chatOperation(schemas);
  const media = createMediaOperations({ clock: parts.clock, randomSeed: () => randomInt(2 ** 31) });
  const write = { method: 'POST', scope: 'inference:write' } as const;
  const read = { method: 'GET', scope: 'inference:read' } as const;
  const price = { ...read, serve: (ask: GatewayRequest) => serveModelPrice(parts, ask) };
  return [
    { ...write, path: '/v1/chat/completions', serve: (ask) => serveText(parts, chat, ask) },
    { ...write, path: '/v1/completions', serve: (ask) => serveText(parts, completionOperation, ask) },
    { ...write, path: '/v1/image/generation', serve: (ask) => serveMedia(parts, media.generateImage, ask) },
    { ...write, path: '/v1/images/generations', serve: (ask) => serveMedia(parts, media.createImages, ask) },
    { ...write, path: '/v1/audio/generation', serve: (ask) => serveMedia(parts, media.generateAudio, ask) },
    { ...write, path: '/v1/audio/speech', serve: (ask) => serveMedia(parts, media.createSpeech, ask) },
    { ...read, path: '/v1/models', serve: (ask) => serveModels(parts, ask) },
    { ...price, path: /^\/models\/([^/]+)\/price$/ },
    { ...price, path: /^\/v1\/models\/([^/]+)\/price$/ },
  ];
}
