import type { EngineKind } from '@millrace/core/inference';
import type { Clock } from '@millrace/platform/clock';
import type { ImageAdapter } from './image.ts';
import { createAutomatic1111Images } from './image-automatic1111.ts';
import { createComfyImages } from './image-comfyui.ts';
import { createMockImages } from './image-mock.ts';
import { createOpenAiImages } from './image-openai.ts';

export interface ImageAdapterOptions {
  readonly clock: Clock;
}

/** Null: this kind of engine draws no pictures. */
export function imageAdapterOf(engine: EngineKind, { clock }: ImageAdapterOptions): ImageAdapter | null {
  switch (engine) {
    case 'openai':
    case 'openai-images':
    case 'vllm':
    case 'sglang':
      return createOpenAiImages(engine);
    case 'automatic1111':
      return createAutomatic1111Images();
    case 'comfyui':
      return createComfyImages(clock);
    case 'mock':
      return createMockImages();
    case 'llama.cpp':
    case 'speech':
      return null;
  }
}
