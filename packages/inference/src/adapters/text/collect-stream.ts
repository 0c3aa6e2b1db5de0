import { TextEngineError, type TokenCounts } from './text-adapter.ts';
import type { CollectedCompletion } from './read-completion.ts';
import { sumChoices, usageOf } from './token-counts.ts';
import type { TextDialect } from './text-dialect.ts';
import { textEngineError, failureInEvent } from './text-failures.ts';
import { asCount, asList, asObject, asText, parseJson, type JsonObject } from './engine-json.ts';
import type { StreamSettings } from './text-stream.ts';

/** A choice that is assembled from its events, in the shape of a full completion. */
interface PartialChoice {
  readonly index: number;
  text: string;
  reasoning: string;
  readonly calls: Map<number, { id: string; name: string; arguments: string }>;
  readonly logprobs: unknown[];
  hasLogprobs: boolean;
  finishReason: string | null;
}

/** Assembles a completion from a stream, for engines that report usage per choice only in streams. */
export function collectStream(
  text: string,
  dialect: TextDialect,
  request: StreamSettings,
): CollectedCompletion {
  const choices = new Map<number, PartialChoice>();
  const counts = new Map<number, TokenCounts>();
  let ended: number | null = null;
  for (const event of eventsOf(text)) {
    const failure = failureInEvent(event);
    if (failure !== null) throw new TextEngineError(failure);
    for (const value of asList(event['choices'])) {
      const choice = asObject(value) ?? {};
      const grown = appendToChoice(choices, choice);
      if (grown.finishReason !== null) ended = grown.index;
      const running = dialect.runningCounts(event);
      if (running !== null) counts.set(grown.index, running);
    }
    const usage = usageOf(event);
    if (usage !== null && ended !== null) counts.set(ended, usage);
  }
  const all = [...choices.values()];
  if (all.some(({ finishReason }) => finishReason === null)) {
    throw textEngineError('The engine ended the stream before the completion was finished.');
  }
  return {
    choices: all.map(toFullChoice),
    counts: counts.size === 0 ? null : sumChoices(counts, request.choicesPerPrompt),
  };
}

function eventsOf(text: string): JsonObject[] {
  return (
    text
      .split('\n')
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(5).trim())
      // llama-server sends one `null` for choices that share a prompt.
      .filter((data) => data !== '[DONE]' && data !== 'null')
      .map((data) => {
        const event = asObject(parseJson(data));
        if (event === null) throw textEngineError('The engine sent an event that is not a JSON object.');
        return event;
      })
  );
}

function appendToChoice(choices: Map<number, PartialChoice>, choice: JsonObject): PartialChoice {
  const index = asCount(choice['index']) ?? 0;
  const grown = choices.get(index) ?? emptyChoice(index);
  choices.set(index, grown);
  const delta = asObject(choice['delta']) ?? {};
  grown.text += asText(delta['content']) ?? asText(choice['text']) ?? '';
  grown.reasoning += asText(delta['reasoning_content']) ?? '';
  for (const [position, value] of asList(delta['tool_calls']).entries()) addCall(grown, value, position);
  const logprobs = asObject(choice['logprobs']);
  if (logprobs !== null) {
    grown.hasLogprobs = true;
    grown.logprobs.push(...asList(logprobs['content']));
  }
  grown.finishReason = asText(choice['finish_reason']) ?? grown.finishReason;
  return grown;
}

function emptyChoice(index: number): PartialChoice {
  return {
    index,
    text: '',
    reasoning: '',
    calls: new Map(),
    logprobs: [],
    hasLogprobs: false,
    finishReason: null,
  };
}

function addCall(grown: PartialChoice, value: unknown, position: number): void {
  const delta = asObject(value) ?? {};
  const at = asCount(delta['index']) ?? position;
  const call = grown.calls.get(at) ?? { id: '', name: '', arguments: '' };
  grown.calls.set(at, call);
  const made = asObject(delta['function']) ?? {};
  call.id += asText(delta['id']) ?? '';
  call.name += asText(made['name']) ?? '';
  call.arguments += asText(made['arguments']) ?? '';
}

function toFullChoice({
  index,
  text,
  reasoning,
  calls,
  logprobs,
  hasLogprobs,
  finishReason,
}: PartialChoice): JsonObject {
  const made = [...calls.values()].map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }));
  return {
    index,
    text,
    message: { role: 'assistant', content: text, reasoning_content: reasoning, tool_calls: made },
    logprobs: hasLogprobs ? { content: logprobs } : null,
    finish_reason: finishReason,
  };
}
