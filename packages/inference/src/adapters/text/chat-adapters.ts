import type { EngineKind } from '@millrace/core/inference';
import { chatChoices, type ChatRequest } from '../../wire/chat-request.ts';
import type { TextAdapter } from './text-adapter.ts';
import { readFullCompletion } from './read-completion.ts';
import { upstreamRequest } from './text-request-fields.ts';
import type { TextDialect } from './text-dialect.ts';
import { toTextFailure } from './text-failures.ts';
import { chatCompletionFormat } from './chat-format.ts';
import { EventStream, type StreamSettings } from './text-stream.ts';
import { llamaDialect } from './llama-dialect.ts';
import { mockDialect } from './mock-dialect.ts';
import { openaiDialect } from './openai-dialect.ts';
import { sglangDialect } from './sglang-dialect.ts';
import { vllmDialect } from './vllm-dialect.ts';

export type TextEngine = Extract<EngineKind, 'llama.cpp' | 'openai' | 'vllm' | 'sglang' | 'mock'>;

export const textDialects: Readonly<Record<TextEngine, TextDialect>> = {
  'llama.cpp': llamaDialect,
  openai: openaiDialect,
  vllm: vllmDialect,
  sglang: sglangDialect,
  mock: mockDialect,
};

const adapters = Object.fromEntries(
  Object.entries(textDialects).map(([engine, dialect]) => [engine, createChatAdapter(dialect)]),
) as Readonly<Record<TextEngine, TextAdapter<ChatRequest>>>;

export function chatAdapterOf(engine: TextEngine): TextAdapter<ChatRequest> {
  return adapters[engine];
}

export function isTextEngine(engine: EngineKind): engine is TextEngine {
  return Object.hasOwn(textDialects, engine);
}

function createChatAdapter(dialect: TextDialect): TextAdapter<ChatRequest> {
  return {
    cache: dialect.cache,
    countsWhileRunning: dialect.countsWhileRunning,
    toUpstream: (request, facts) =>
      upstreamRequest('/v1/chat/completions', dialect.chatBody(request, facts), facts),
    readCompletion: (text, request, facts) =>
      readFullCompletion(text, {
        form: chatCompletionFormat(request),
        dialect,
        settings: streamSettingsOf(request),
        facts,
      }),
    openStream: (request, facts) =>
      new EventStream({
        form: chatCompletionFormat(request),
        dialect,
        settings: streamSettingsOf(request),
        facts,
      }),
    readFailure: toTextFailure,
  };
}

function streamSettingsOf(request: ChatRequest): StreamSettings {
  const choices = chatChoices(request);
  return { choices, choicesPerPrompt: choices, includeUsage: request.stream_options?.include_usage === true };
}
