import { contract } from '@millrace/contract';
import { msToSeconds } from '@millrace/platform/money';
import type { z } from 'zod';
import { speechAdapterOf } from '../../adapters/media/speech-adapters.ts';
import type { SpeechResult, SpeechRequest } from '../../adapters/media/speech-adapters.ts';
import type { MediaOperation, MediaUnits } from './media-operation.ts';
import { createBodyReader, fieldNamesOf } from '../../wire/body-reader.ts';

/** `POST /v1/audio/generation` of the API reference, and `POST /v1/audio/speech` of OpenAI clients. */

export type SpeechOperation = MediaOperation<SpeechRequest, SpeechResult>;

const { generateAudio, createSpeech } = contract.operations;
type InterfaceBody = z.output<typeof generateAudio.body>;
type OpenAiBody = z.output<typeof createSpeech.body>;

const readInterface = createBodyReader(generateAudio.body, fieldNamesOf(generateAudio.body), () => []);
const readOpenAi = createBodyReader(createSpeech.body, fieldNamesOf(createSpeech.body), () => []);

const common = {
  modality: 'audio',
  modelOf: (request: SpeechRequest) => request.model,
  worstCase: (request: SpeechRequest) => units(request),
  made: (request: SpeechRequest) => units(request),
  adapterOf: speechAdapterOf,
} as const;

export const audioOperations: Readonly<Record<'generateAudio' | 'createSpeech', SpeechOperation>> = {
  generateAudio: {
    ...common,
    id: 'generateAudio',
    read(body) {
      const { request, ignored } = readInterface(body);
      return { request: fromInterface(request), ignored };
    },
    nameOf: (field) => field,
    render: (request, { audio, sampleRate }, { elapsedMs }) => ({
      contentType: 'application/json',
      body: JSON.stringify({
        audio: audio.toString('base64'),
        inference_time: msToSeconds(Math.round(elapsedMs)),
        sample_rate: sampleRate,
        usage: charactersOf(request.text),
      }),
    }),
  },
  createSpeech: {
    ...common,
    id: 'createSpeech',
    read(body) {
      const { request, ignored } = readOpenAi(body);
      return { request: fromOpenAi(request), ignored };
    },
    nameOf: (field) => field,
    render: (_request, { audio }) => ({ contentType: 'audio/mpeg', body: audio }),
  },
};

function units(request: SpeechRequest): MediaUnits {
  return { imagePixelSteps: 0, characters: charactersOf(request.text) };
}

/** Counts code points: a character outside the basic plane is one, not two. */
export function charactersOf(text: string): number {
  let count = 0;
  for (const _character of text) count += 1;
  return count;
}

/** Documented defaults, equal to those of the engines. */
const tuningDefaults = { sdp_ratio: 0.2, noise_scale: 0.6, noise_scale_w: 0.8 } as const;

function fromInterface(body: InterfaceBody): SpeechRequest {
  const tuning = Object.entries(tuningDefaults).flatMap(([name, otherwise]) => {
    const value = body[name as keyof typeof tuningDefaults];
    return value === otherwise ? [] : [[name, value] as const];
  });
  return {
    model: body.model ?? null,
    text: body.text,
    voice: body.speaker ?? null,
    speed: body.speed,
    language: body.language ?? null,
    tuning: Object.fromEntries(tuning),
  };
}

function fromOpenAi(body: OpenAiBody): SpeechRequest {
  const { model, input: text, voice, speed } = body;
  return { model, text, voice, speed, language: null, tuning: {} };
}
