import { audioOperations } from './audio-operations.ts';
import { imageOperations, type ImageOperationOptions } from './image-operations.ts';

export type MediaOperations = ReturnType<typeof createMediaOperations>;

export function createMediaOperations(options: ImageOperationOptions) {
  return { ...imageOperations(options), ...audioOperations };
}
