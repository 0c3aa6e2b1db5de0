import { audioOperations, type SpeechOperation } from './audio-operations.ts';
import { imageOperations, type ImageOperation, type ImageOperationOptions } from './image-operations.ts';

export interface MediaOperations {
  readonly generateImage: ImageOperation;
  readonly createImages: ImageOperation;
  readonly generateAudio: SpeechOperation;
  readonly createSpeech: SpeechOperation;
}

/** All four, made once for a process. */
export function createMediaOperations(options: ImageOperationOptions): MediaOperations {
  return { ...imageOperations(options), ...audioOperations };
}
