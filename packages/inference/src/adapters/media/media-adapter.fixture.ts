import type { DeploymentEntry, EngineKind } from '@millrace/core/inference';
import type { ImageRequest } from './image-adapter.ts';
import type { MediaRequest, MediaResponse, SendUpstream } from './media-adapter.ts';

export function httpSender(url: string): SendUpstream {
  return async ({ method, path, headers, body }, signal) => {
    const response = await fetch(`${url}${path}`, { method, headers, body, signal });
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: Buffer.from(await response.arrayBuffer()),
    };
  };
}

/** Always returns the given response and records the requests. */
export function fixedSender(
  status: number,
  body: unknown,
): { readonly call: SendUpstream; readonly requests: MediaRequest[] } {
  const requests: MediaRequest[] = [];
  const call = async (request: MediaRequest): Promise<MediaResponse> => {
    requests.push(request);
    return { status, headers: {}, body: Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)) };
  };
  return { call, requests };
}

export function deploymentOf(engine: EngineKind, changes: Partial<DeploymentEntry> = {}): DeploymentEntry {
  return {
    id: 'dep_1',
    engine,
    address: 'http://127.0.0.1:1',
    upstreamModel: 'toy.safetensors',
    apiKey: null,
    region: 'eu-north-2',
    weight: 100,
    maxConcurrency: null,
    ...changes,
  };
}

export const plainImageRequest: ImageRequest = {
  model: 'pictures',
  backend: 'auto',
  prompt: 'a mill',
  negativePrompt: null,
  prompt2: null,
  negativePrompt2: null,
  width: 192,
  height: 128,
  count: 1,
  steps: 30,
  cfgScale: 5,
  seed: 42,
  isSeedGiven: false,
  sampler: null,
  stylePreset: null,
  initImage: null,
  strength: null,
  controlnet: null,
  refiner: false,
  lora: {},
};

export const never = new AbortController().signal;
