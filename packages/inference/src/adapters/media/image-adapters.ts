import type { EngineKind } from '@millrace/core/inference';
import type { Clock } from '@millrace/platform/clock';
import type { ImageAdapter } from './image-adapter.ts';
import { createAutomatic1111Adapter } from './image-automatic1111.ts';
import { createComfyUiAdapter } from './image-comfyui.ts';
import { createMockImageAdapter } from './image-mock.ts';
import { createOpenAiImageAdapter } from './image-openai.ts';

export interface ImageAdapterOptions {
  readonly clock: Clock;
}

/** Null: this engine kind does not generate images. */
export function imageAdapterOf(engine: EngineKind, { clock }: ImageAdapterOptions): ImageAdapter | null {
  switch (engine) {
    case 'openai':
    case 'openai-images':
    case 'vllm':
    case 'sglang':
      return createOpenAiImageAdapter(engine);
    case 'automatic1111':
      return createAutomatic1111Adapter();
    case 'comfyui':
      return createComfyUiAdapter(clock);
    case 'mock':
      return createMockImageAdapter();
    case 'llama.cpp':
    case 'speech':
      return null;
  }
}
