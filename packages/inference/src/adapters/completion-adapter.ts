import { completionChoices, type CompletionRequest } from '../wire/completion.ts';
import type { ChatAdapter } from './adapter.ts';
import { dialects, type ChatEngine } from './chat-adapter.ts';
import { readWhole } from './chat-answer.ts';
import { upstreamRequest } from './chat-body.ts';
import type { Dialect } from './chat-dialect.ts';
import { failureOf } from './chat-failures.ts';
import { EventStream, type StreamWish } from './chat-stream.ts';
import { completionForm } from './completion-form.ts';

const adapters = Object.fromEntries(
  Object.entries(dialects).map(([engine, dialect]) => [engine, createCompletionAdapter(dialect)]),
) as Readonly<Record<ChatEngine, ChatAdapter<CompletionRequest>>>;

/** Engines that chat also complete plain text. */
export function completionAdapterOf(engine: ChatEngine): ChatAdapter<CompletionRequest> {
  return adapters[engine];
}

function createCompletionAdapter(dialect: Dialect): ChatAdapter<CompletionRequest> {
  return {
    cache: dialect.cache,
    countsWhileRunning: dialect.countsWhileRunning,
    toUpstream: (request, facts) =>
      upstreamRequest('/v1/completions', dialect.completionBody(request, facts), facts),
    readAnswer: (text, request, facts) =>
      readWhole(text, { form: completionForm(request), dialect, wish: wishOf(request), facts }),
    openStream: (request, facts) =>
      new EventStream({ form: completionForm(request), dialect, wish: wishOf(request), facts }),
    readFailure: failureOf,
  };
}

function wishOf(request: CompletionRequest): StreamWish {
  return {
    choices: completionChoices(request),
    choicesPerPrompt: request.n ?? 1,
    includeUsage: request.stream_options?.include_usage === true,
  };
}
