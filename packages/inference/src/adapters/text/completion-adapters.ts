import { completionChoices, type CompletionRequest } from '../../wire/completion-request.ts';
import type { TextAdapter } from './text-adapter.ts';
import { textDialects, type TextEngine } from './chat-adapters.ts';
import { readFullAnswer } from './read-text-answer.ts';
import { upstreamRequest } from './text-request-fields.ts';
import type { TextDialect } from './text-dialect.ts';
import { toTextFailure } from './text-failures.ts';
import { EventStream, type StreamSettings } from './text-stream.ts';
import { completionAnswerFormat } from './completion-answer-format.ts';

const adapters = Object.fromEntries(
  Object.entries(textDialects).map(([engine, dialect]) => [engine, createCompletionAdapter(dialect)]),
) as Readonly<Record<TextEngine, TextAdapter<CompletionRequest>>>;

/** Engines that chat also complete plain text. */
export function completionAdapterOf(engine: TextEngine): TextAdapter<CompletionRequest> {
  return adapters[engine];
}

function createCompletionAdapter(dialect: TextDialect): TextAdapter<CompletionRequest> {
  return {
    cache: dialect.cache,
    countsWhileRunning: dialect.countsWhileRunning,
    toUpstream: (request, facts) =>
      upstreamRequest('/v1/completions', dialect.completionBody(request, facts), facts),
    readAnswer: (text, request, facts) =>
      readFullAnswer(text, {
        form: completionAnswerFormat(request),
        dialect,
        wish: streamSettingsOf(request),
        facts,
      }),
    openStream: (request, facts) =>
      new EventStream({
        form: completionAnswerFormat(request),
        dialect,
        wish: streamSettingsOf(request),
        facts,
      }),
    readFailure: toTextFailure,
  };
}

function streamSettingsOf(request: CompletionRequest): StreamSettings {
  return {
    choices: completionChoices(request),
    choicesPerPrompt: request.n ?? 1,
    includeUsage: request.stream_options?.include_usage === true,
  };
}
