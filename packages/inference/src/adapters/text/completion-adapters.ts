import { completionChoices, type CompletionRequest } from '../../wire/completion-request.ts';
import type { TextAdapter } from './text-adapter.ts';
import { textDialects, type TextEngine } from './chat-adapters.ts';
import { readFullCompletion } from './read-completion.ts';
import { upstreamRequest } from './text-request-fields.ts';
import type { TextDialect } from './text-dialect.ts';
import { toTextFailure } from './text-failures.ts';
import { EventStream, type StreamSettings } from './text-stream.ts';
import { textCompletionFormat } from './completion-format.ts';

const adapters = Object.fromEntries(
  Object.entries(textDialects).map(([engine, dialect]) => [engine, createCompletionAdapter(dialect)]),
) as Readonly<Record<TextEngine, TextAdapter<CompletionRequest>>>;

export function completionAdapterOf(engine: TextEngine): TextAdapter<CompletionRequest> {
  return adapters[engine];
}

function createCompletionAdapter(dialect: TextDialect): TextAdapter<CompletionRequest> {
  return {
    cache: dialect.cache,
    countsWhileRunning: dialect.countsWhileRunning,
    toUpstream: (request, facts) =>
      upstreamRequest('/v1/completions', dialect.completionBody(request, facts), facts),
    readCompletion: (text, request, facts) =>
      readFullCompletion(text, {
        form: textCompletionFormat(request),
        dialect,
        settings: streamSettingsOf(request),
        facts,
      }),
    openStream: (request, facts) =>
      new EventStream({
        form: textCompletionFormat(request),
        dialect,
        settings: streamSettingsOf(request),
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
