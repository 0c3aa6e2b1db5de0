import type { EngineKind } from '@millrace/core/inference';
import { chatChoices, type ChatRequest } from '../wire/chat.ts';
import type { ChatAdapter } from './adapter.ts';
import { readWhole } from './chat-answer.ts';
import { upstreamRequest } from './chat-body.ts';
import type { Dialect } from './chat-dialect.ts';
import { failureOf } from './chat-failures.ts';
import { chatForm } from './chat-form.ts';
import { EventStream, type StreamWish } from './chat-stream.ts';
import { llamaDialect } from './llama-dialect.ts';
import { mockDialect } from './mock-dialect.ts';
import { openaiDialect } from './openai-dialect.ts';
import { sglangDialect } from './sglang-dialect.ts';
import { vllmDialect } from './vllm-dialect.ts';

/** The engines that chat. */
export type ChatEngine = Extract<EngineKind, 'llama.cpp' | 'openai' | 'vllm' | 'sglang' | 'mock'>;

export const dialects: Readonly<Record<ChatEngine, Dialect>> = {
  'llama.cpp': llamaDialect,
  openai: openaiDialect,
  vllm: vllmDialect,
  sglang: sglangDialect,
  mock: mockDialect,
};

const adapters = Object.fromEntries(
  Object.entries(dialects).map(([engine, dialect]) => [engine, createChatAdapter(dialect)]),
) as Readonly<Record<ChatEngine, ChatAdapter<ChatRequest>>>;

export function chatAdapterOf(engine: ChatEngine): ChatAdapter<ChatRequest> {
  return adapters[engine];
}

/** Engines for images and speech do not chat. */
export function isChatEngine(engine: EngineKind): engine is ChatEngine {
  return Object.hasOwn(dialects, engine);
}

function createChatAdapter(dialect: Dialect): ChatAdapter<ChatRequest> {
  return {
    cache: dialect.cache,
    countsWhileRunning: dialect.countsWhileRunning,
    toUpstream: (request, facts) =>
      upstreamRequest('/v1/chat/completions', dialect.chatBody(request, facts), facts),
    readAnswer: (text, request, facts) =>
      readWhole(text, { form: chatForm(request), dialect, wish: wishOf(request), facts }),
    openStream: (request, facts) =>
      new EventStream({ form: chatForm(request), dialect, wish: wishOf(request), facts }),
    readFailure: failureOf,
  };
}

function wishOf(request: ChatRequest): StreamWish {
  const choices = chatChoices(request);
  return {
    choices,
    choicesPerPrompt: choices,
    includeUsage: request.stream_options?.include_usage === true,
  };
}
