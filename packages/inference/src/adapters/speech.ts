import type { EngineKind } from '@millrace/core/inference';
import { brokenAnswer, type MediaAdapter } from './media.ts';
import { bearer, requireSuccess, sendsJson } from './media-failure.ts';
import { readMp3, silentMp3 } from './speech-mp3.ts';

/** A validated wish for speech, in whichever shape it came. */
export interface SpeechWish {
  /** As the client wrote it; null where its shape lets it leave the choice to us. */
  readonly model: string | null;
  readonly text: string;
  readonly voice: string;
  readonly speed: number;
  readonly language: string | null;
  /** What engines of one family know beside that, where it differs from their default. */
  readonly tuning: Readonly<Record<string, number>>;
}

export interface SpeechAnswer {
  /** A whole MP3 file. */
  readonly audio: Buffer;
  readonly sampleRate: number;
}

export type SpeechAdapter = MediaAdapter<SpeechWish, SpeechAnswer>;

/** Where a client names no voice. Every engine of this protocol knows it, by the example of the first. */
export const defaultVoice = 'alloy';

/** Null: this kind of engine does not speak. */
export function speechAdapterOf(engine: EngineKind): SpeechAdapter | null {
  switch (engine) {
    case 'speech':
    case 'vllm':
      return speaking;
    case 'openai':
      return plainSpeaking;
    case 'mock':
      return mock;
    case 'sglang':
    case 'llama.cpp':
    case 'openai-images':
    case 'automatic1111':
    case 'comfyui':
      return null;
  }
}

/** `POST /v1/audio/speech`. Fields that only some engines know are sent only when they say something. */
const speaking: SpeechAdapter = {
  lacks: () => [],
  async run(wish, { deployment }, call, signal) {
    const body = {
      model: deployment.upstreamModel,
      input: wish.text,
      voice: wish.voice,
      response_format: 'mp3',
      speed: wish.speed,
      ...(wish.language === null ? {} : { language: wish.language }),
      ...wish.tuning,
    };
    const response = await call(
      {
        method: 'POST',
        path: '/v1/audio/speech',
        headers: { ...sendsJson, accept: 'audio/mpeg', ...bearer(deployment.apiKey) },
        body: JSON.stringify(body),
      },
      signal,
    );
    return spoken(requireSuccess(response).body);
  },
};

/** OpenAI itself refuses fields that it does not know. */
const plainSpeaking: SpeechAdapter = {
  lacks: ({ language, tuning }) => [...(language === null ? [] : ['language']), ...Object.keys(tuning)],
  run: speaking.run,
};

/** For test keys: silence, about as long as the text would take. No engine is asked. */
const mock: SpeechAdapter = {
  lacks: () => [],
  run: async ({ text }) => spoken(silentMp3(2 * text.length + 1)),
};

function spoken(audio: Buffer): SpeechAnswer {
  const facts = readMp3(audio);
  if (facts === null) throw brokenAnswer('The engine answered with something that is no MP3.');
  return { audio, sampleRate: facts.sampleRate };
}
