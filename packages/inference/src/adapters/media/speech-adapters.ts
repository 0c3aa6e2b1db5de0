import type { EngineKind } from '@millrace/core/inference';
import { invalidMediaResponse, type MediaAdapter } from './media-adapter.ts';
import { bearerHeaders, requireSuccess, jsonHeaders } from './media-responses.ts';
import { readMp3Header, silentMp3 } from './mp3-header.ts';

/** A validated wish for speech, in whichever shape it came. */
export interface SpeechRequest {
  /** As the client wrote it; null where its shape lets it leave the choice to us. */
  readonly model: string | null;
  readonly text: string;
  /** Null: whichever the engine likes. */
  readonly voice: string | null;
  readonly speed: number;
  readonly language: string | null;
  /** What engines of one family know beside that, where it differs from their default. */
  readonly tuning: Readonly<Record<string, number>>;
}

export interface SpeechResult {
  /** A whole MP3 file. */
  readonly audio: Buffer;
  readonly sampleRate: number;
}

export type SpeechAdapter = MediaAdapter<SpeechRequest, SpeechResult>;

/** Null: this kind of engine does not speak. */
export function speechAdapterOf(engine: EngineKind): SpeechAdapter | null {
  switch (engine) {
    case 'speech':
      return createSpeechAdapter({ defaultVoice: 'alloy', isWide: true });
    case 'vllm':
      // Each of its models has voices of its own, and one of them for who names none.
      return createSpeechAdapter({ defaultVoice: null, isWide: true });
    case 'openai':
      return createSpeechAdapter({ defaultVoice: 'alloy', isWide: false });
    case 'mock':
      return mockSpeechAdapter;
    case 'sglang':
    case 'llama.cpp':
    case 'openai-images':
    case 'automatic1111':
    case 'comfyui':
      return null;
  }
}

interface SpeechDialect {
  /** What the protocol wants where a client names none; null where the engine chooses. */
  readonly defaultVoice: string | null;
  /** Whether it takes fields beyond those of OpenAI, which refuses what it does not know. */
  readonly isWide: boolean;
}

/** `POST /v1/audio/speech`. Fields that only some engines know are sent only when they say something. */
function createSpeechAdapter({ defaultVoice, isWide }: SpeechDialect): SpeechAdapter {
  return {
    unsupportedFields({ language, tuning }) {
      return isWide ? [] : [...(language === null ? [] : ['language']), ...Object.keys(tuning)];
    },
    async run(request, { deployment }, call, signal) {
      const voice = request.voice ?? defaultVoice;
      const body = {
        model: deployment.upstreamModel,
        input: request.text,
        response_format: 'mp3',
        speed: request.speed,
        ...(voice === null ? {} : { voice }),
        ...(request.language === null ? {} : { language: request.language }),
        ...request.tuning,
      };
      const response = await call(
        {
          method: 'POST',
          path: '/v1/audio/speech',
          headers: { ...jsonHeaders, accept: 'audio/mpeg', ...bearerHeaders(deployment.apiKey) },
          body: JSON.stringify(body),
        },
        signal,
      );
      return toSpeechResult(requireSuccess(response).body);
    },
  };
}

/** For test keys: silence, about as long as the text would take. No engine is asked. */
const mockSpeechAdapter: SpeechAdapter = {
  unsupportedFields: () => [],
  run: async ({ text }) => toSpeechResult(silentMp3(2 * text.length + 1)),
};

function toSpeechResult(audio: Buffer): SpeechResult {
  const facts = readMp3Header(audio);
  if (facts === null) throw invalidMediaResponse('The engine answered with something that is no MP3.');
  return { audio, sampleRate: facts.sampleRate };
}
