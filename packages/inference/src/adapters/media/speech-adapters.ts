import type { EngineKind } from '@millrace/core/inference';
import { invalidMediaResponse, type MediaAdapter } from './media-adapter.ts';
import { bearerHeaders, requireSuccess, jsonHeaders } from './media-responses.ts';
import { readMp3Header, silentMp3 } from './mp3-header.ts';

/** A validated speech request, from either API shape. */
export interface SpeechRequest {
  /** As the client wrote it; null if the client left the choice to the gateway. */
  readonly model: string | null;
  readonly text: string;
  /** Null: the engine's default. */
  readonly voice: string | null;
  readonly speed: number;
  readonly language: string | null;
  /** Fields of one engine family, where they differ from their default. */
  readonly tuning: Readonly<Record<string, number>>;
}

export interface SpeechResult {
  readonly audio: Buffer;
  readonly sampleRate: number;
}

export type SpeechAdapter = MediaAdapter<SpeechRequest, SpeechResult>;

/** Null: this engine kind does not generate speech. */
export function speechAdapterOf(engine: EngineKind): SpeechAdapter | null {
  switch (engine) {
    case 'speech':
      return createSpeechAdapter({ defaultVoice: 'alloy', isWide: true });
    case 'vllm':
      // Each vLLM model has its own voices and default voice.
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
  /** Voice to send if the client names none; null if the engine chooses. */
  readonly defaultVoice: string | null;
  /** Whether it accepts fields beyond OpenAI's. OpenAI refuses unknown fields. */
  readonly isWide: boolean;
}

/** `POST /v1/audio/speech`. Fields that only some engines accept are sent only if set. */
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

/** Silence for test keys, about as long as speech of the text. */
const mockSpeechAdapter: SpeechAdapter = {
  unsupportedFields: () => [],
  run: async ({ text }) => toSpeechResult(silentMp3(2 * text.length + 1)),
};

function toSpeechResult(audio: Buffer): SpeechResult {
  const facts = readMp3Header(audio);
  if (facts === null) throw invalidMediaResponse('The engine returned data that is not an MP3.');
  return { audio, sampleRate: facts.sampleRate };
}
